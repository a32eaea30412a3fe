#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The tables of docs/architecture.md: folders of src/ with their lines and what they may include (from
# tools/check_layers.sh), and the longest files and widest folders beside those of an earlier commit.
#
#   tools/folder_table.sh           prints them
#   tools/folder_table.sh --write   puts them between the marks in docs/architecture.md
#
# BEFORE names the commit to compare with. Only tracked files count.

set -eu
cd -- "$(dirname -- "$(readlink -f -- "$0")")/.."
before=${BEFORE:-40938eb}
page=docs/architecture.md
sources='\.(h|cpp|cu|cuh)$'

git cat-file -e "$before^{commit}" 2>/dev/null || {
  echo "folder_table.sh: commit $before is not in this clone; a whole clone has it, or set BEFORE" >&2
  exit 1
}

# "path lines" of every source below src/, now or at a commit.
lines_now() { git grep -Ic '' -- src | sed 's/:\([0-9]*\)$/ \1/' | grep -E "${sources%\$} "; }
lines_before() {
  git grep -Ic '' "$before" -- src | sed -e "s/^$before://" -e 's/:\([0-9]*\)$/ \1/' |
    grep -E "${sources%\$} "
}
paths_now() { git ls-files -- src; }
paths_before() { git ls-tree -r --name-only "$before" -- src; }

may_include() {
  sed -n "/^layers='/,/^'/p" tools/check_layers.sh | awk -F: -v folder="$1" '
    $1 == folder { gsub(/^ +| +$/, "", $2); gsub(/ +/, ", ", $2); print ($2 == "" ? "nothing of ours" : $2) }'
}

folders() {
  echo '| folder | files | lines | may include |'
  echo '|---|---|---|---|'
  lines_now | awk '{ n = split($1, p, "/")
    folder = p[2]; if (folder == "backends") folder = folder "/" p[3]
    files[folder]++; lines[folder] += $2 }
    END { for (f in files) print f, files[f], lines[f] }' | sort |
    while read -r folder files lines; do
      echo "| \`$folder\` | $files | $lines | $(may_include "${folder%%/*}") |"
    done
  lines_now | awk '{ files++; lines += $2 } END { printf "| all | %d | %d | |\n", files, lines }'
}

# Ranks of two lists, side by side: "name value" lines on both.
side_by_side() { # TITLE NOW BEFORE
  echo "| | $1 at $before | | $1 now | |"
  echo '|---|---|---|---|---|'
  paste -d' ' "$3" "$2" | awk '{ printf "| %d | `%s` | %s | `%s` | %s |\n", NR, $1, $2, $3, $4 }'
}

longest() { sort -k2,2nr -k1,1 | head -n 8 | sed 's|^src/||'; }

# Files and folders directly inside each folder.
widest() {
  awk '{ n = split($1, p, "/"); path = p[1]
    for (i = 2; i <= n; ++i) { if (!seen[path, p[i]]++) entries[path]++; path = path "/" p[i] } }
    END { for (f in entries) print f, entries[f] }' | sort -k2,2nr -k1,1 | head -n 8 | sed 's|^src/||'
}

headers() {
  echo "| header | lines at $before | lines now |"
  echo '|---|---|---|'
  for name in engine.h seam.h kernel_table.h; do
    pattern="^src/(ops|nn|sparsity|sparsity/engine)/$name "
    old=$(lines_before | grep -E "$pattern" | cut -d' ' -f2)
    new=$(lines_now | grep -E "$pattern" | awk '{ sub(/^src\//, "", $1); print $2 " (`" $1 "`)" }')
    echo "| \`$name\` | ${old:-none} | ${new:-gone} |"
  done
}

tables() {
  folders
  echo
  lines_now | longest >"$work/now" && lines_before | longest >"$work/before"
  side_by_side 'longest files, lines' "$work/now" "$work/before"
  echo
  paths_now | widest >"$work/now" && paths_before | widest >"$work/before"
  side_by_side 'widest folders, entries' "$work/now" "$work/before"
  echo
  headers
}

work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
case $#:${1-} in
  0:) tables ;;
  1:--write)
    tables >"$work/tables"
    awk -v tables="$work/tables" '
      /^<!-- end of tools\/folder_table.sh -->$/ { skip = 0 }
      !skip { print }
      /^<!-- tools\/folder_table.sh -->$/ { skip = 1; while ((getline line < tables) > 0) print line }
    ' "$page" >"$work/page"
    cat "$work/page" >"$page"
    ;;
  *)
    echo 'usage: folder_table.sh [--write]' >&2
    exit 2
    ;;
esac
