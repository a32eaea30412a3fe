#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Everything that can be said about the sources without running them.
#
#   tools/lint.sh [--all] [CHECK …]   format | layers | headers | tidy | house; all by default
#   tools/lint.sh [--all] --changed   the files that headers and tidy would look at, or "all"
#   tools/lint.sh --self-test         tries the search for what changed on a toy repository
#
# headers and tidy take seconds per file, so they look at what changed since the merge base with the
# main branch, or since the commit before where this is the main branch: changed files, and those
# that include a changed header, directly or not. --all: every file.
#
# A tool that is not installed is skipped with a line that says so; with CI=true that is a failure.
# headers and tidy use build/ci (warnings are errors), which `./twill lint` configures.
#
# TWILL_LINT_BASE  the commit to compare with, instead of the one above
# TWILL_LINT_DEEP  1: also the path-sensitive analyzer, five times as long
# TWILL_LINT_JOBS  bounds the parallel work (default: the number of cores)

set -uo pipefail
script=$(readlink -f -- "$0")
cd -- "$(dirname -- "$script")/.." || exit 2

everything=no
jobs=${TWILL_LINT_JOBS:-$(nproc)}
passed=0
failed=0
skipped=0

# --- what is looked at ---------------------------------------------------------------------------

# Every file of the repository, ignored ones left out, NUL-terminated.
files() {
  if command -v git >/dev/null && [ -e .git ]; then
    git -c safe.directory="$PWD" ls-files -z -co --exclude-standard
  else
    find . -path ./build -prune -o -path ./runs -prune -o -path ./.git -prune -o \
      -path ./.cache -prune -o -path ./.deps -prune -o -type f -printf '%P\0'
  fi | while IFS= read -r -d '' file; do
    if [ -f "$file" ]; then printf '%s\0' "$file"; fi # listed, but deleted: not ours to judge
  done
}

sources() { files | grep -zE '\.(h|cpp|cuh|cu)$'; }
scripts() { files | grep -zE '(^twill|^\.ci/run|\.sh)$'; }
texts() {
  files | grep -zE '(\.(h|cpp|cuh|cu|sh|cmake|toml|md|json|in|py)|CMakeLists\.txt|^twill|^\.ci/run)$' |
    grep -zvE '^assets/'
}

# --- what changed --------------------------------------------------------------------------------

in_git() { git -c safe.directory="$PWD" "$@"; }

# The commit that the tree is compared with; fails where there is none.
base_commit() {
  local branch base
  if [ -n "${TWILL_LINT_BASE:-}" ]; then
    in_git rev-parse --verify --quiet "$TWILL_LINT_BASE^{commit}"
    return
  fi
  for branch in origin/main main origin/master master; do
    base=$(in_git merge-base HEAD "$branch" 2>/dev/null) || continue
    [ "$base" = "$(in_git rev-parse HEAD)" ] || {
      echo "$base"
      return
    }
  done
  in_git rev-parse --verify --quiet 'HEAD~1^{commit}'
}

# Files that differ from commit $1 and are still there, new ones among them.
changed_since() {
  {
    in_git diff --name-only --diff-filter=d "$1" --
    in_git ls-files -o --exclude-standard
  } | sort -u
}

# Reads names of files; prints them and all that include one of them, directly or not. An #include
# names a path below src/, include/ or tests/.
with_includers() {
  local includes
  includes=$(sources | xargs -0r grep -HoE '^ *# *include +["<][^">]+' |
    sed -E 's/^([^:]+):.*["<]/\1 /')
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

# What headers and tidy look at: "all", or names of files. Rules that changed concern every file.
scope() {
  local base changed
  if [ "$everything" = yes ] || ! base=$(base_commit); then
    echo all
    return
  fi
  changed=$(changed_since "$base")
  if printf '%s\n' "$changed" | grep -qxE '\.clang-tidy|cmake/Warnings\.cmake'; then
    echo all
  else
    printf '%s\n' "$changed" | grep -E '\.(h|cpp|cuh|cu)$' | with_includers
  fi
}

# Of the names read, those in scope $1.
in_scope() {
  if [ "$1" = all ]; then cat; else grep -xFf <(printf '%s\n' "$1"); fi
}

# --- the checks: each prints what it finds and returns 1 when that is a fault --------------------

nothing_in() {
  [ -z "$1" ] || {
    printf '%s\n' "$1"
    return 1
  }
}

# The version is pinned, because versions disagree; the name without a number is Debian 12's.
if command -v clang-format-14 >/dev/null; then format=clang-format-14; else format=clang-format; fi

# Many files at once; one by one only to name those at fault.
check_format() {
  local found
  sources | xargs -0r -P "$jobs" -n 40 "$format" --dry-run --Werror -- >/dev/null 2>&1 && return
  found=$(sources | while IFS= read -r -d '' file; do
    "$format" --dry-run --Werror -- "$file" >/dev/null 2>&1 ||
      echo "$file: not formatted: $format -i $file"
  done)
  nothing_in "$found"
}

check_layers() { tools/check_layers.sh --self-test && tools/check_layers.sh; }

configure_ci() {
  mkdir -p build
  [ -f build/ci/build.ninja ] || cmake --preset ci >build/.log-ci 2>&1 || {
    cat build/.log-ci
    return 1
  }
}

# Objects of twill_headers, as ninja names them: one per header of the scope.
header_targets() {
  local prefix=tests/headers/CMakeFiles/twill_headers.dir/
  ninja -C build/ci -t targets all | sed -n "s|^\($prefix.*\)\.cpp\.o: .*|\1|p" |
    sed "s|^$prefix||" | in_scope "$1" | sed "s|.*|$prefix&.cpp.o|"
}

# Headers compiled alone, with warnings as errors.
check_headers() {
  configure_ci && flock build/.lock ninja -C build/ci build.ninja >/dev/null || return 1
  local targets
  targets=$(header_targets "$(scope)")
  echo "$(printf '%s' "$targets" | grep -c .) headers"
  [ -n "$targets" ] || return 0
  printf '%s\n' "$targets" |
    xargs flock build/.lock ninja -C build/ci -j "$jobs" >build/.log-ci 2>&1 || {
    sed '/^\[[0-9]*\/[0-9]*\] /d' build/.log-ci
    return 1
  }
}

# Sources of the library and the command that build/ci compiles; generated ones lie outside src/.
tidy_sources() {
  sed -n 's/^ *"file": "\(.*\.cpp\)",\{0,1\}$/\1/p' build/ci/compile_commands.json |
    grep -F "$PWD/src/" | sort -u
}

# GCC's flags are read by clang here: flags that it does not know are not what is being checked.
check_tidy() {
  configure_ci && flock build/.lock ninja -C build/ci build.ninja >/dev/null || return 1
  local files_to_tidy
  files_to_tidy=$(tidy_sources)
  [ -n "$files_to_tidy" ] || {
    echo "build/ci/compile_commands.json names no source under src/"
    return 1
  }
  files_to_tidy=$(printf '%s\n' "$files_to_tidy" | sed "s|^$PWD/||" | in_scope "$(scope)")
  echo "$(printf '%s' "$files_to_tidy" | grep -c .) sources"
  [ -n "$files_to_tidy" ] || return 0
  local deep=()
  [ -z "${TWILL_LINT_DEEP:-}" ] || deep=(--checks='clang-analyzer-core*,clang-analyzer-cplusplus*')
  printf '%s\n' "$files_to_tidy" | tr '\n' '\0' |
    xargs -0 -P "$jobs" -n 1 clang-tidy -p build/ci --quiet "${deep[@]}" \
      --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument \
      2> >(grep -vE '^[0-9]+ warnings? |^Suppressed |^Use -header-filter|^$' >&2)
}

# Prints "file:line: what" for each line of a NUL-terminated list of files that matches.
lines_with() { # PATTERN MESSAGE
  xargs -0r grep -nHE -- "$1" | sed -E "s|^([^:]*:[0-9]+):.*|\1: $2|"
}

check_house() {
  local found
  found=$(
    texts | lines_with $'\t' 'tab'
    texts | lines_with '[[:space:]]+$' 'white space at the end of the line'
    sources | xargs -0r grep -nHwE 'TODO|FIXME' |
      grep -vE '(TODO|FIXME)\([^)]+\): *[^[:space:]]' |
      sed -E 's|^([^:]*:[0-9]+):.*|\1: a TODO is written TODO(owner, #issue): text|'
    texts | while IFS= read -r -d '' file; do
      [ ! -s "$file" ] || [ -z "$(tail -c 1 -- "$file")" ] || echo "$file: no newline at the end"
    done
    sources | while IFS= read -r -d '' file; do
      head -n 1 -- "$file" | grep -q '^// SPDX-License-Identifier: Apache-2\.0$' ||
        echo "$file:1: the first line is not // SPDX-License-Identifier: Apache-2.0"
      case $file in
        *-inl.h) ;; # read several times, once per instruction set
        *.h | *.cuh)
          grep -q '^#pragma once$' -- "$file" || echo "$file: no #pragma once"
          ;;
      esac
    done
    scripts | while IFS= read -r -d '' file; do
      head -n 2 -- "$file" | grep -q '^# SPDX-License-Identifier: Apache-2\.0$' ||
        echo "$file:2: the second line is not # SPDX-License-Identifier: Apache-2.0"
    done
  )
  nothing_in "$found"
}

# --- running them --------------------------------------------------------------------------------

# tool, package: what a check cannot do without.
run_check() { # NAME [TOOL PACKAGE]
  local name=$1 tool=${2-} package=${3-} begin=$SECONDS output
  if [ -n "$tool" ] && ! command -v "$tool" >/dev/null; then
    if [ "${CI:-}" = true ]; then
      echo "failed: $name ($tool is not installed: apt-get install $package)"
      failed=$((failed + 1))
    else
      echo "skipped: $tool (not installed: apt-get install $package)"
      skipped=$((skipped + 1))
    fi
  elif output=$("check_$name" 2>&1); then
    output=$(printf '%s\n' "$output" | grep -xE '[0-9]+ (headers|sources)')
    echo "passed: $name (${output:+$output, }$((SECONDS - begin)) s)"
    passed=$((passed + 1))
  else
    printf '%s\n' "$output"
    echo "failed: $name ($((SECONDS - begin)) s)"
    failed=$((failed + 1))
  fi
}

# --- the search for what changed, on a toy ---------------------------------------------------------

self_test() {
  local toy faults=0
  toy=$(mktemp -d)
  # shellcheck disable=SC2064  # expanded now: the variable is local
  trap "rm -rf -- '$toy'" EXIT
  cd -- "$toy" || exit 2
  mkdir -p src/base src/nn include/twill tests
  echo '#pragma once' >src/base/a.h
  echo '#include "base/a.h"' >src/nn/b.h
  echo '  #  include "nn/b.h"' >src/nn/c.cpp
  echo '#include <twill/t.h>' >src/nn/d.cpp
  echo '#pragma once' >include/twill/t.h
  echo '#include <vector>' >src/nn/e.cpp
  quiet() { git -c user.name=x -c user.email=x@y "$@" >/dev/null 2>&1; }
  quiet init -b main . && quiet add . && quiet commit -m one

  expect() { # WHAT WANTED
    local got
    got=$(scope | tr '\n' ' ')
    [ "$got" = "$2 " ] || [ "$got" = "$2" ] || {
      echo "self-test: $1: '$got', expected '$2'"
      faults=$((faults + 1))
    }
  }
  expect 'no commit before' all
  echo '// x' >>src/nn/e.cpp && quiet commit -am two
  expect 'on main: since the commit before' 'src/nn/e.cpp'
  echo '// x' >>src/base/a.h
  expect 'a header counts its includers' 'src/base/a.h src/nn/b.h src/nn/c.cpp src/nn/e.cpp'
  quiet checkout src/base/a.h && quiet checkout -b topic
  echo '// y' >>include/twill/t.h && quiet commit -am three && echo >src/nn/new.cpp
  expect 'on a branch: since the merge base, new files too' \
    'include/twill/t.h src/nn/d.cpp src/nn/new.cpp'
  TWILL_LINT_BASE=HEAD expect 'since a commit that is named' 'src/nn/new.cpp'
  quiet rm include/twill/t.h
  expect 'a file that is gone' 'src/nn/new.cpp'
  everything=yes expect '--all' all
  echo x >.clang-tidy
  expect 'other rules concern everything' all
  [ "$faults" = 0 ]
}

# --- the arguments -------------------------------------------------------------------------------

checks=()
for argument; do
  case $argument in
    --all) everything=yes ;;
    --changed) scope && exit 0 ;;
    --self-test) self_test && echo 'self-test passed' && exit 0 || exit 1 ;;
    --help | -h) sed -n '4,/^$/s/^# \{0,1\}//p' "$script" && exit 0 ;;
    format | layers | house | headers | tidy) checks+=("$argument") ;;
    *)
      echo "lint: no check '$argument': format, layers, headers, tidy, house, or --all" >&2
      exit 2
      ;;
  esac
done
[ ${#checks[@]} -gt 0 ] || checks=(format layers house headers tidy)

for check in "${checks[@]}"; do
  case $check in
    format) run_check format "$format" clang-format ;;
    headers) run_check headers ninja 'cmake ninja-build g++' ;;
    tidy) run_check tidy clang-tidy clang-tidy ;;
    *) run_check "$check" ;;
  esac
done

echo "lint: $passed checks passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
