#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Everything that can be said about the sources without running them.
#
#   tools/lint.sh [--all] [CHECK …]   format | layers | headers | tidy | house; all by default
#   tools/lint.sh --self-test         tries checks on toys that they must find fault with
#
# headers and tidy take seconds per file, so they look at what a change concerns (tools/changed.sh).
# --all: every file.
#
# A tool that is not installed is skipped with a line that says so; with CI=true that is a failure.
# headers and tidy use build/ci (warnings are errors), which `./twill lint` configures.
#
# TWILL_LINT_BASE  the commit to compare with, instead of the one that tools/changed.sh finds
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
cmake_files() { files | grep -zE '(^|/)CMakeLists\.txt$|\.cmake$'; }
scripts() { files | grep -zE '(^twill|^\.ci/run|\.sh)$'; }
texts() {
  files | grep -zE '(\.(h|cpp|cuh|cu|sh|cmake|toml|md|json|in|py)|CMakeLists\.txt|^twill|^\.ci/run)$' |
    grep -zvE '^assets/'
}

# What headers and tidy look at: "all", or names of files.
scope() {
  if [ "$everything" = yes ]; then echo all; else tools/changed.sh; fi
}

# Of the names read, those in scope $1.
in_scope() {
  if [ "$1" = all ]; then cat; else grep -xFf <(printf '%s\n' "$1"); fi
}

# "12 headers since 85fddd1e2cda", for the line that says what passed.
how_many() { # LINES WHAT SCOPE
  local count since=
  count=$(printf '%s' "$1" | grep -c .)
  [ "$3" = all ] || since=" since $(tools/changed.sh --base | cut -c1-12)"
  echo "$count $2$since"
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

# The headers that twill_headers compiles alone; their objects bear their names.
header_objects=tests/headers/CMakeFiles/twill_headers.dir/
lone_headers() {
  ninja -C build/ci -t targets all | sed -n "s|^$header_objects\(.*\)\.cpp\.o: .*|\1|p"
}

# Headers compiled alone, with warnings as errors.
check_headers() {
  configure_ci && flock build/.lock ninja -C build/ci build.ninja >/dev/null || return 1
  local headers of
  headers=$(lone_headers)
  [ -n "$headers" ] || {
    echo "build/ci compiles no header alone (tests/headers/CMakeLists.txt)"
    return 1
  }
  of=$(scope)
  headers=$(printf '%s\n' "$headers" | in_scope "$of")
  how_many "$headers" headers "$of"
  [ -n "$headers" ] || return 0
  printf '%s\n' "$headers" | sed "s|.*|$header_objects&.cpp.o|" |
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
  local files_to_tidy of
  files_to_tidy=$(tidy_sources)
  [ -n "$files_to_tidy" ] || {
    echo "build/ci/compile_commands.json names no source under src/"
    return 1
  }
  of=$(scope)
  files_to_tidy=$(printf '%s\n' "$files_to_tidy" | sed "s|^$PWD/||" | in_scope "$of")
  how_many "$files_to_tidy" sources "$of"
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
    cmake_files | while IFS= read -r -d '' file; do
      head -n 1 -- "$file" | grep -q '^# SPDX-License-Identifier: Apache-2\.0$' ||
        echo "$file:1: the first line is not # SPDX-License-Identifier: Apache-2.0"
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
    output=$(printf '%s\n' "$output" | grep -xE '[0-9]+ (headers|sources)( since [0-9a-f]+)?')
    echo "passed: $name (${output:+$output, }$((SECONDS - begin)) s)"
    passed=$((passed + 1))
  else
    printf '%s\n' "$output"
    echo "failed: $name ($((SECONDS - begin)) s)"
    failed=$((failed + 1))
  fi
}

# --- on toys -------------------------------------------------------------------------------------

# A repository of files that break one rule each, and nothing that builds.
self_test() {
  local toy faults=0
  unset TWILL_LINT_BASE GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
  toy=$(mktemp -d)
  # shellcheck disable=SC2064  # expanded now: the variable is local
  trap "rm -rf -- '$toy'" EXIT
  cd -- "$toy" || exit 2
  mkdir -p tools build/ci src/base
  cp -- "$script" "$(dirname -- "$script")/changed.sh" tools
  git init -q -b main .
  git add . && git -c user.name=x -c user.email=x@y commit -q -m one

  expect() { # WHAT STATUS LINE COMMAND…
    local what=$1 wanted=$2 line=$3 output status=0
    shift 3
    output=$("$@" 2>&1) || status=$?
    [ "$status" = "$wanted" ] && grep -qE -- "$line" <<<"$output" && return
    echo "self-test: $what: exit code $status, expected $wanted and a line with '$line':"
    printf '%s\n' "$output" | sed 's/^/  | /'
    faults=$((faults + 1))
  }

  echo 'project(x)' >CMakeLists.txt
  expect 'CMake without a licence' 1 '^CMakeLists.txt:1: .* SPDX' tools/lint.sh house
  echo '# SPDX-License-Identifier: Apache-2.0' >CMakeLists.txt
  expect 'CMake with one' 0 '^passed: house' tools/lint.sh house
  printf '# SPDX-License-Identifier: Apache-2.0\n\tx\n' >a.cmake
  expect 'a tab' 1 '^a.cmake:2: tab' tools/lint.sh house

  # A build folder without a target for headers, then with one.
  printf 'rule x\n  command = true\nbuild build.ninja: phony\n' >build/ci/build.ninja
  expect 'a build that has lost its headers' 1 'compiles no header alone' tools/lint.sh headers
  for header in a b; do
    echo "build ${header_objects}src/base/$header.h.cpp.o: x" >>build/ci/build.ninja
    echo '#pragma once' >"src/base/$header.h"
  done
  git add . && git -c user.name=x -c user.email=x@y commit -q -m two
  echo '// x' >>src/base/b.h
  expect 'one header of two changed' 0 \
    "^passed: headers \(2 headers since $(git rev-parse HEAD~1 | cut -c1-12), " tools/lint.sh headers
  TWILL_LINT_BASE=HEAD expect 'since a commit that is named' 0 '\(1 headers since ' \
    tools/lint.sh headers
  TWILL_LINT_BASE=HEAD expect 'all of them' 0 '\(2 headers, ' tools/lint.sh --all headers
  git checkout -q src/base/b.h
  TWILL_LINT_BASE=HEAD expect 'nothing changed' 0 '\(0 headers since ' tools/lint.sh headers
  [ "$faults" = 0 ]
}

# --- the arguments -------------------------------------------------------------------------------

checks=()
for argument; do
  case $argument in
    --all) everything=yes ;;
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
