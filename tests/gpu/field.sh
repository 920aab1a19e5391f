# shellcheck shell=sh disable=SC2154
# tests/gpu/field.sh: section `field` of run.sh: what watching costs, side by side. Sourced by run.sh; uses its functions.
#
#   FIELD_TOTAL_S   seconds for all of it; default 330
#   FIELD_OPTIONS   further options of field.py, e.g. '--part 1' for the programs alone, '--ways bare,raw,wavetap'
#
# Tables go to the terminal, to print.txt and, as Markdown, to $OUT/field.md; every sample to $OUT/field.tsv as it comes.

section_field() {
  # shellcheck disable=SC2086 # options
  guest field 'cost beside others' field.py --total "${FIELD_TOTAL_S:-330}" --markdown "$out/field.md" \
    --tsv "$out/field.tsv" ${FIELD_OPTIONS:-}
  cat "$work/field.txt" >>"$out/print.txt"
}
