#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Everything that can be said about the sources without running them.
#
#   tools/lint.sh [CHECK …]    format | layers | headers | tidy | house; all of them by default
#
# A tool that is not installed is skipped with a line that says so; with CI=true that is a failure.
# headers and tidy use build/ci (warnings are errors), which `./twill lint` configures.
# TWILL_LINT_JOBS bounds the parallel work (default: the number of cores).

set -uo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$0")")/.." || exit 2

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

# --- the checks: each prints what it finds and returns 1 when that is a fault --------------------

nothing_in() {
  [ -z "$1" ] || {
    printf '%s\n' "$1"
    return 1
  }
}

# The version is pinned, because versions disagree; the name without a number is Debian 12's.
if command -v clang-format-14 >/dev/null; then format=clang-format-14; else format=clang-format; fi

check_format() {
  local found
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

# Every header compiled alone, with warnings as errors.
check_headers() {
  configure_ci || return 1
  flock build/.lock ninja -C build/ci -j "$jobs" twill_headers >build/.log-ci 2>&1 || {
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
    echo "passed: $name ($((SECONDS - begin)) s)"
    passed=$((passed + 1))
  else
    printf '%s\n' "$output"
    echo "failed: $name ($((SECONDS - begin)) s)"
    failed=$((failed + 1))
  fi
}

[ $# -gt 0 ] || set -- format layers house headers tidy
for check; do
  case $check in
    format) run_check format "$format" clang-format ;;
    layers) run_check layers ;;
    house) run_check house ;;
    headers) run_check headers ninja 'cmake ninja-build g++' ;;
    tidy) run_check tidy clang-tidy clang-tidy ;;
    *)
      echo "lint: no check '$check': format, layers, headers, tidy, house" >&2
      exit 2
      ;;
  esac
done

echo "lint: $passed checks passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
