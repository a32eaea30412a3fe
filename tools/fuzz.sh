#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the fuzz targets, one after the other or several at once, under the address and
# undefined-behaviour sanitizers. ./twill fuzz builds them first and calls this.
#
#   tools/fuzz.sh [TARGET …]       each for ten million inputs or ten minutes, whichever comes first
#
# TWILL_FUZZ_RUNS and TWILL_FUZZ_SECONDS set other limits, TWILL_FUZZ_JOBS how many run at once.
# What was learnt stays in build/fuzz/corpus/TARGET and a finding in build/fuzz/findings; a line per
# target goes to build/fuzz/results.txt. Exit 1 when there was a finding.

set -uo pipefail
script=$(readlink -f -- "$0")
cd -- "$(dirname -- "$script")/.." || exit 2
case " $* " in
  *' --help '* | *' -h '*) sed -n '4,/^$/s/^# \{0,1\}//p' "$script" && exit 0 ;;
esac

build=${TWILL_FUZZ_BUILD:-build/fuzz}
runs=${TWILL_FUZZ_RUNS:-10000000}
seconds=${TWILL_FUZZ_SECONDS:-600}
jobs=${TWILL_FUZZ_JOBS:-$(nproc)}

targets=()
for program in "$build"/bin/fuzz_*; do
  [ ! -x "$program" ] || targets+=("${program##*/fuzz_}")
done
[ ${#targets[@]} -gt 0 ] || {
  echo "nothing to run in $build/bin: ./twill fuzz builds the targets" >&2
  exit 2
}
if [ $# -gt 0 ]; then
  for target; do
    [ -x "$build/bin/fuzz_$target" ] || {
      echo "no target '$target': ${targets[*]}" >&2
      exit 2
    }
  done
  targets=("$@")
fi

# Inputs grow to 64 KiB: dotted keys of thousands of parts fit in, and most inputs stay small anyway,
# because the fuzzer begins with short ones.
# A parser that asks for more than 256 MB at once, or holds 1 GB, believes what a header says.
fuzz_one() {
  local target=$1 log=$build/fuzz-$1.log status=0 count busy TIMEFORMAT=%U
  mkdir -p "$build/corpus/$target" "$build/findings"
  busy=$({ time "$build/bin/fuzz_$target" -runs="$runs" -max_total_time="$seconds" \
    -max_len=65536 -len_control=100 -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=256 -print_final_stats=1 \
    -artifact_prefix="$build/findings/$target-" \
    "$build/corpus/$target" "$build/seeds/$target" >"$log" 2>&1 </dev/null; } 2>&1) || status=$?
  count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  printf '%-22s %12s inputs %7.0f s of CPU  %s\n' "$target" "${count:-?}" "$busy" \
    "$([ $status = 0 ] && echo 'no finding' || echo "FINDING, see $log")" |
    tee -a "$build/results.txt"
  return $status
}
export -f fuzz_one
export build runs seconds

"$build/bin/twill_fuzz_seeds" "$build/seeds"
for target in "${targets[@]}"; do mkdir -p "$build/seeds/$target"; done
: >"$build/results.txt"
printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I{} bash -c 'fuzz_one {}' || exit 1
