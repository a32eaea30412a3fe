#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What .ci/run leaves out because it takes long and seldom finds anything: before a release, and after
# a change of what it looks at. An hour and a half on two cores; exit 1 when a part failed, or when the
# machine lacks what all of a part needs: a release is not sound for want of looking.
#
#   tools/full_check.sh [PART …]
#
#   lint     every header alone, clang-tidy over every source
#   deep     clang's path-sensitive analyzer over every source: half an hour of its own
#   cuda     the CUDA backend for every architecture of a release
#   asan     the whole suite under the address and undefined-behaviour sanitizers
#   tsan     what runs on several threads under the thread sanitizer
#   breaks   breaks one rule of one op at a time and expects a test to notice
#   neon     the kernels of the CPU compiled for Arm, where there is a cross compiler

set -uo pipefail
export CI=true # a tool that is missing and a test that is skipped without leave are failures
cd -- "$(dirname -- "$(readlink -f -- "$0")")/.." || exit 2

part_lint() { ./twill lint --all; }
part_deep() { TWILL_LINT_DEEP=1 ./twill lint --all tidy; }
part_cuda() { TWILL_CI_EVERYTHING=1 TWILL_CI_CUDA='80-real;90a-real' .ci/run --stage cuda; }
part_asan() { TWILL_PRESET=asan TWILL_TEST_TIMEOUT=900 ./twill test; }
part_tsan() { TWILL_PRESET=tsan TWILL_TEST_TIMEOUT=900 ./twill test 'Pool|Thread|threads[23]_|Prefetch|Loader'; }
part_breaks() {
  ./twill test Breakages.AreListed &&
    tools/break_ops.sh build/release/bin/twill_tests
}
part_neon() {
  if command -v aarch64-linux-gnu-g++ >/dev/null; then tools/check_neon.sh; else
    echo 'no aarch64-linux-gnu-g++: apt-get install g++-aarch64-linux-gnu'
    echo 'skipped: no aarch64-linux-gnu-g++' >>"$TWILL_CI_NOTE"
  fi
}

parts=(lint deep cuda asan tsan breaks neon)
[ $# -gt 0 ] || set -- "${parts[@]}"
for part; do
  case " ${parts[*]} " in *" $part "*) ;; *)
    echo "no part '$part': ${parts[*]}" >&2
    exit 2
    ;;
  esac
done

# What a part left out stands there, in words for the table (.ci/run).
TWILL_CI_NOTE=$(mktemp)
export TWILL_CI_NOTE
trap 'rm -f -- "$TWILL_CI_NOTE"' EXIT
table=()
failures=0
for part; do
  printf '\n=== %s\n' "$part"
  begin=$SECONDS
  : >"$TWILL_CI_NOTE"
  if "part_$part"; then verdict=$(cat "$TWILL_CI_NOTE"); else verdict=failed; fi
  [ -z "$verdict" ] || failures=$((failures + 1))
  verdict=${verdict:-passed}
  table+=("$(printf '%-8s %7d  %s' "$part" "$((SECONDS - begin))" "$verdict")")
done
printf '\n%-8s %7s  %s\n' part seconds result
printf '%s\n' "${table[@]}"
[ "$failures" = 0 ]
