#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a change concerns, for checks that take seconds per file: names of files, or "all".
#
#   tools/changed.sh              changed sources, and those that include a changed header, directly or not
#   tools/changed.sh --names      every file that changed, whatever it is
#   tools/changed.sh --base       the commit that the tree is compared with; exit 1 where there is none
#   tools/changed.sh --self-test  tries this on a toy repository
#
# Compared is with the merge base with the main branch, or with the commit before where this is the
# main branch. Where no main branch is known it is the branch that this one follows. "all": there is
# nothing to compare with, or a rule changed that concerns every source.
#
# TWILL_LINT_BASE  the commit to compare with, instead of the one above

set -euo pipefail
script=$(readlink -f -- "$0")
cd -- "$(dirname -- "$script")/.."

in_git() { git -c safe.directory="$PWD" "$@"; }

base_commit() {
  local branch base head knows_main=no
  [ -e .git ] || return 1 # unpacked inside another repository we are no part of that
  if [ -n "${TWILL_LINT_BASE:-}" ]; then
    in_git rev-parse --verify --quiet "$TWILL_LINT_BASE^{commit}"
    return
  fi
  head=$(in_git rev-parse --verify --quiet 'HEAD^{commit}') || return 1
  for branch in origin/HEAD origin/main main origin/master master '@{upstream}'; do
    [ "$branch:$knows_main" != '@{upstream}:yes' ] || continue
    base=$(in_git merge-base "$head" "$branch" 2>/dev/null) || continue
    [ "$base" = "$head" ] || {
      echo "$base"
      return
    }
    [ "$branch" = '@{upstream}' ] || knows_main=yes
  done
  # All of this is on the main branch. Elsewhere one commit back would be a guess.
  [ "$knows_main" = yes ] && in_git rev-parse --verify --quiet 'HEAD~1^{commit}'
}

# Files that differ from commit $1 and are still there, new ones among them.
changed_since() {
  {
    in_git diff --name-only --diff-filter=d "$1" --
    in_git ls-files -o --exclude-standard
  } | sort -u
}

# Of the names read, those of sources.
sources_of() { grep -E '\.(h|cpp|cuh|cu)$' || true; }

# Reads names of files; prints them and all that include one of them, directly or not. An #include
# names a path below src/, include/ or tests/.
with_includers() {
  local includes
  includes=$(in_git ls-files -z -co --exclude-standard -- '*.h' '*.cpp' '*.cuh' '*.cu' |
    xargs -0r grep -sHoE '^ *# *include +["<][^">]+' | sed -E 's/^([^:]+):.*["<]/\1 /' || true)
  awk '
    NR == FNR { if (NF == 2) { includer[++count] = $1; included[count] = $2 } next }
    { found[$0] = 1 }
    END {
      do {
        grew = 0
        for (i = 1; i <= count; ++i) {
          path = included[i]
          if (!(includer[i] in found) && (("src/" path) in found || ("include/" path) in found ||
              ("tests/" path) in found)) { found[includer[i]] = 1; grew = 1 }
        }
      } while (grew)
      for (file in found) print file
    }' <(printf '%s\n' "$includes") - | sort
}

print_names() {
  local base
  if base=$(base_commit); then changed_since "$base"; else echo all; fi
}

print_sources() {
  local names
  names=$(print_names)
  if grep -qxE 'all|\.clang-tidy|cmake/Warnings\.cmake' <<<"$names"; then
    echo all
  else
    sources_of <<<"$names" | with_includers
  fi
}

# --- on a toy ------------------------------------------------------------------------------------

self_test() {
  local toy faults=0
  unset TWILL_LINT_BASE GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
  toy=$(mktemp -d)
  # shellcheck disable=SC2064  # expanded now: the variable is local
  trap "rm -rf -- '$toy' '$toy.clone'" EXIT
  cd -- "$toy"
  mkdir -p src/base src/nn include/twill tests tools
  cp -- "$script" tools/changed.sh
  echo '#pragma once' >src/base/a.h
  echo '#include "base/a.h"' >src/nn/b.h
  echo '  #  include "nn/b.h"' >src/nn/c.cpp
  echo '#include <twill/t.h>' >src/nn/d.cpp
  echo '#pragma once' >include/twill/t.h
  echo '#include <vector>' >src/nn/e.cpp
  quiet() { git -c user.name=x -c user.email=x@y "$@" >/dev/null 2>&1; }

  expect() { # WHAT WANTED [OPTION]
    local got status=0
    got=$(tools/changed.sh ${3:+"$3"} | tr '\n' ' ') || status=$?
    [ "$status:${got% }" = "0:$2" ] || {
      echo "self-test: $1: '${got% }' with exit code $status, expected '$2'"
      faults=$((faults + 1))
    }
  }
  expect 'no repository' all
  quiet init -b main . && quiet add . && quiet commit -m one
  expect 'no commit before' all
  echo '// x' >>src/nn/e.cpp && quiet commit -am two
  expect 'on main: since the commit before' 'src/nn/e.cpp'
  expect 'and which one that is' "$(git rev-parse HEAD~1)" --base
  echo '// x' >>src/base/a.h
  expect 'a header counts its includers' 'src/base/a.h src/nn/b.h src/nn/c.cpp src/nn/e.cpp'
  quiet checkout src/base/a.h && quiet checkout -b topic
  echo '// y' >>include/twill/t.h && quiet commit -am three && echo >src/nn/new.cpp
  expect 'on a branch: since the merge base, new files too' \
    'include/twill/t.h src/nn/d.cpp src/nn/new.cpp'
  TWILL_LINT_BASE=HEAD expect 'since a commit that is named' 'src/nn/new.cpp'
  TWILL_LINT_BASE=nothing expect 'since a commit that is not there' all
  quiet rm include/twill/t.h
  expect 'a file that is gone' 'src/nn/new.cpp'
  rm src/nn/new.cpp && echo 'x' >words.md
  TWILL_LINT_BASE=HEAD expect 'no source changed' ''
  TWILL_LINT_BASE=HEAD expect 'but a file did' 'words.md' --names
  echo x >.clang-tidy
  expect 'other rules concern everything' all
  rm .clang-tidy && quiet add . && quiet commit -m four

  # A clone knows the main branch by another name, or not at all.
  quiet branch -m main trunk && quiet checkout trunk
  quiet clone . "$toy.clone" && cd "$toy.clone"
  expect 'an old commit of the main branch: since the one before' 'src/nn/e.cpp'
  quiet checkout topic
  expect 'a branch of a main branch that only origin/HEAD names' 'words.md' --names
  quiet remote set-head origin --delete && quiet branch -d -r origin/trunk
  expect 'no main branch: one commit back would be a guess' all
  echo '// z' >>src/nn/c.cpp && quiet commit -am five
  expect 'no main branch: since the branch that this one follows' 'src/nn/c.cpp'
  [ "$faults" = 0 ] && echo 'self-test: passed'
}

case $#:${1-} in
  0:) print_sources ;;
  1:--names) print_names ;;
  1:--base) base_commit ;;
  1:--self-test) self_test ;;
  *)
    echo 'usage: changed.sh [--names | --base | --self-test]' >&2
    exit 2
    ;;
esac
