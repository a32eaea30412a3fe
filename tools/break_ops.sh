#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Puts the paper tests on trial: breaks one rule of one op at a time (a tie, a scale, a mask) and
# expects at least one of the tests that carry the rule to fail.
#
#   tools/break_ops.sh [TEST_BINARY]      default build/dev/bin/twill_tests

set -uo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$0")")/.." || exit 2
tests=${1:-build/dev/bin/twill_tests}
[ -x "$tests" ] || {
  echo "no test binary at $tests: ./twill test builds one, or give its path" >&2
  exit 2
}

unnoticed=0 tried=0
while read -r _ name filter; do
  tried=$((tried + 1))
  output=$(TWILL_BREAK=$name "$tests" --gtest_filter="$filter" --gtest_brief=1 2>&1)
  status=$?
  failed=$(grep -c '^\[  FAILED  \] [A-Z][A-Za-z0-9_/]*\.' <<<"$output")
  if [ $status = 0 ] || [ "$failed" = 0 ]; then
    printf '%-34s NOT NOTICED by %s\n' "$name" "$filter"
    unnoticed=$((unnoticed + 1))
  else
    printf '%-34s noticed: %s\n' "$name" "$(grep -m1 '^\[  FAILED  \] [A-Z]' <<<"$output" | cut -c13-)"
  fi
done < <("$tests" --gtest_filter=Breakages.AreListed | grep '^breakage ')
echo "$((tried - unnoticed)) of $tried broken rules noticed"
[ $tried -gt 0 ] && [ $unnoticed = 0 ]
