#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Which commit a build says it is made of (cmake/BuildFacts.cmake), on toy repositories.
# One line per check, exit 1 when one fails.

set -u
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
root=$(readlink -f -- "$(dirname -- "$0")/../..")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
failures=0

toy="$work/a clone"
mkdir -p "$toy"
cp -r -- "$root/cmake" "$toy"
commit_is() { # NAME WANTED
  cmake -Dsource_dir="$toy" -Doutput="$work/facts.cpp" -Dcompiler=c -Dkind=k \
    -P "$toy/cmake/BuildFacts.cmake" >"$work/out" 2>&1
  if grep -qF "\"$2\"" "$work/facts.cpp"; then printf 'ok    %s\n' "$1"; else
    printf 'FAIL  %s: no "%s" in\n' "$1" "$2"
    sed 's/^/      | /' "$work/out" "$work/facts.cpp"
    failures=$((failures + 1))
  fi
}
in_toy() { git -C "$toy" -c user.name=x -c user.email=x@y "$@" >/dev/null 2>&1; }

commit_is 'no repository' unknown
in_toy init && in_toy add . && in_toy commit -m one
head=$(git -C "$toy" rev-parse --short=12 HEAD)
commit_is 'a commit' "$head"
touch "$toy/new" && commit_is 'a file that git does not know changes nothing' "$head"
if [ "$(id -u)" = 0 ]; then # git reads a repository of somebody else only where it is told to
  chown -R 65534:65534 "$toy"
  commit_is "somebody else's clone" "$head"
  chown -R 0:0 "$toy"
fi
echo '# x' >>"$toy/cmake/BuildFacts.cmake"
commit_is 'a file that differs' "$head with changes"

[ "$failures" = 0 ] || exit 1
printf 'build facts: all checks passed\n'
