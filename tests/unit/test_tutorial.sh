#!/bin/sh
# doc/reading-idle-sm-time.md: below each command stands what it prints, to the letter; and what the text says of
# these outputs is in them.
set -u
build=${top_builddir:-.}
src=${top_srcdir:-.}
page=$src/doc/reading-idle-sm-time.md
if [ "$(LC_ALL=C.UTF-8 locale charmap 2>/dev/null)" != UTF-8 ]; then
	echo "1..0 # SKIP no locale C.UTF-8"
	exit 0
fi
count=0 failed=0
ok() { # STATUS WHAT
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		failed=1
		echo "not ok $count - $2"
	fi
}
differences=$(sh "$src/scripts/doc-outputs.sh" -n "$build/wavetap" "$src" "$page")
[ -z "$differences" ]
ok $? "what the commands print is what the page says (else: make tutorial, and read the text again)"
printf '%s\n' "$differences" | head -n 40 | sed 's/^/# /'
[ "$(grep -c '^\$ wavetap' "$page")" -ge 10 ]
ok $? "it has commands"

# ---- what the text says
output=$(sed -n '/^```console/,/^```/p' "$page")
while IFS='|' read -r said printed; do
	grep -qF -- "$said" "$page" && printf '%s\n' "$output" | grep -qE -- "$printed"
	ok $? "\"$said\": /$printed/"
done <<'END'
*steps 1-59 of 59 (found)*|steps 1-59 of 59 \(found\)
without the 4.79 s of start-up|apart: start-up 4\.79s
A step takes 31.5 ms|31\.5ms/step
*a kernel ran 9.1 % of the time*|a kernel ran 9\.1% of the time
*lost in kernels ~1.3 % to 1.8 % of the GPU*|lost in kernels ~1\.3% to 1\.8% of the GPU
*active ~7.8 %, gaps 90.9 %*|active ~7\.8%  gaps 90\.9%
4,956 launches of 3.1 us each|15\.3 +4,956 +3\.1 
for 75.3 % of the GPU's time|^  host +75\.3 
`launch`, another 12.3 %|^  launch +12\.3 
At most a factor of 11: 2.85 ms a step|a step 2\.85ms to
A grid of 16 blocks on 132 SMs: 116 of these|grid 16: 116 of 132 SMs get no block
It is launched 944 times, for 4.7 us each|944 +4\.7 
3.86 ms of 1.86 s, 0.2 %|0\.2% of the window
have become 7.40|7\.40ms/step
488 launches a step have become 30|488 launches each
488 launches a step have become 30|30 launches each
2.36 ms now|median in kernels 2\.36ms
`lost in kernels` is 3.9 % now|lost in kernels ~3\.9%
68.1 % are gaps still|gaps 68\.1%
`graph` in `top`, 4.2 %|graph 4\.2
END
echo "1..$count"
exit $failed
