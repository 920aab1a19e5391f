# shellcheck shell=sh disable=SC2154
# tests/gpu/field.sh: sections `field` and `field-parts` of run.sh: what watching costs, side by side, and what each part of it costs. Sourced by run.sh; uses its functions.
#
#   FIELD_TOTAL_S   seconds for all of it; default 480
#   FIELD_OPTIONS   further options of field.py, e.g. '--part 1' for the programs alone, '--ways bare,raw,wavetap'
#   FIELD_PARTS_TOTAL_S, FIELD_PARTS_OPTIONS   the same of field_parts.py; default 175
#
# Tables go to the terminal, to print.txt and, as Markdown, to $OUT/field.md; every sample to $OUT/field.tsv as it comes (field-parts.md, field-parts.tsv).

section_field() {
  # shellcheck disable=SC2086 # options
  guest field 'cost beside others' field.py --total "${FIELD_TOTAL_S:-480}" --markdown "$out/field.md" \
    --tsv "$out/field.tsv" ${FIELD_OPTIONS:-}
  cat "$work/field.txt" >>"$out/print.txt"
}

section_field_parts() {
  # shellcheck disable=SC2086 # options
  guest field-parts 'cost of parts' field_parts.py --total "${FIELD_PARTS_TOTAL_S:-175}" --markdown "$out/field-parts.md" \
    --tsv "$out/field-parts.tsv" ${FIELD_PARTS_OPTIONS:-}
  cat "$work/field-parts.txt" >>"$out/print.txt"
}
