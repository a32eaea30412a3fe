#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Training runs of every kind of recipe from which the system takes one thing away: the n-th
# allocation, thread, write, sync, rename or open. Each must end with a sentence and an exit code, and
# what it had saved must resume to the bits of a run that nothing happened to.
#
#   tools/fault_injection.sh [TRIES]   of each kind and recipe, spread over the run (default: 400)
#
# The suite does the same with a few tries (tests/cli/fault_injection_test.cpp).
# TWILL_FAULT_STEPS: steps of a run (30, the fewest that mst and venom take). TWILL_TESTS: the test program (build/release/bin/twill_tests).

set -euo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$0")")/.."

tests=${TWILL_TESTS:-build/release/bin/twill_tests}
[ -x "$tests" ] || {
  echo "no $tests: ./twill test --list builds it" >&2
  exit 2
}
export TWILL_FAULT_TRIES=${1:-400} TWILL_FAULT_STEPS=${TWILL_FAULT_STEPS:-30}
exec "$tests" --gtest_filter='*FaultInjection*'
