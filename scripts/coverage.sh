#!/bin/sh
# scripts/coverage.sh [BUILD-FOLDER] (make coverage): runs all tests in a build with gcov counters and
# prints which part of lines and branches they ran, by folder, then the least covered files.
# Programs that are killed leave no counts: what only they ran reads as not run.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
folder=${1:-build/coverage}
case $folder in /*) ;; *) folder=$top/$folder ;; esac
command -v gcov >/dev/null 2>&1 || {
  echo "coverage: gcov is not installed (it comes with gcc)" >&2
  exit 1
}
[ ! -d "$folder" ] || find "$folder" -name '*.gcda' -exec rm -f {} +
rc=0
"$top/scripts/test.sh" "$folder" --enable-coverage | tail -n 1 || rc=$?
cd "$folder"
rm -rf gcov
mkdir gcov
cd gcov
# One .gcov.json.gz an object file; a source built into several is counted once, by its best line.
find .. -name '*.gcda' -exec gcov --json-format --branch-probabilities {} + >/dev/null 2>&1 || true
for file in *.gcov.json.gz; do gzip -dc "$file"; echo; done | sqlite3 -batch :memory: "
  CREATE TABLE object(json TEXT);
  CREATE TABLE line(file TEXT, line INTEGER, count INTEGER, branches INTEGER, taken INTEGER);
" ".mode list" ".separator \001" ".import /dev/stdin object" "
  INSERT INTO line
  SELECT replace(f.value->>'file', '$top/', ''), l.value->>'line_number', l.value->>'count',
    json_array_length(l.value->'branches'),
    (SELECT count(*) FROM json_each(l.value->'branches') b WHERE b.value->>'count' > 0)
  FROM object, json_each(object.json->'files') f, json_each(f.value->'lines') l;
  DELETE FROM line WHERE file GLOB '/*' OR file GLOB 'tests/*' OR file GLOB 'schema/schema_sql*';
  CREATE TABLE best AS SELECT file, line, max(count) AS count, max(branches) AS branches,
    max(taken) AS taken FROM line GROUP BY file, line;
  CREATE VIEW share AS SELECT file, substr(file, 1, instr(file, '/') - 1) AS folder, count(*) AS lines,
    sum(count > 0) AS run, sum(branches) AS branches, sum(taken) AS taken FROM best GROUP BY file;
  SELECT printf('%-14s %6s %7s %9s %8s', 'folder', 'lines', 'run', 'branches', 'taken');
  SELECT printf('%-14s %6d %6.1f%% %9d %7.1f%%', folder, sum(lines), 100.0 * sum(run) / sum(lines),
    sum(branches), 100.0 * sum(taken) / sum(branches)) FROM share GROUP BY folder;
  SELECT printf('%-14s %6d %6.1f%% %9d %7.1f%%', 'all', sum(lines), 100.0 * sum(run) / sum(lines),
    sum(branches), 100.0 * sum(taken) / sum(branches)) FROM share;
  SELECT 'least covered files:';
  SELECT printf('  %-32s %5.1f%% of %d lines', file, 100.0 * run / lines, lines) FROM share
    ORDER BY lines - run DESC LIMIT 12;
"
exit "$rc"
