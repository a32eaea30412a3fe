#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kill -9 at random moments, resume, compare with the uninterrupted run: weights, optimizer state and
# metrics (times aside) must be equal to the byte. Usage: tools/kill_and_resume.sh [ROUNDS]
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
rounds=${1:-20}
"$root/twill" info > /dev/null
twill=$root/build/release/bin/twill
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

settings='model.layers=2 model.width=64 model.context=64 train.micro_batch=4 train.steps=120
  checkpoint.every=7 eval.every=11 eval.windows=8 model.dropout=0.1 log.sample_tokens=0'

# Metrics without times and what the device says of itself.
timeless() {
  sed -E 's/,"(tokens_per_s|mfu|roof_share|gpu_memory_bytes|power_watts)":[^,}]*//g' "runs/$1/metrics.jsonl"
}

# Milliseconds in [20, 420) from the kernel's random numbers.
pause() {
  ms=$(od -An -N2 -tu2 /dev/urandom)
  sleep "$(awk -v r="$ms" 'BEGIN { printf "%.3f", 0.02 + (r % 400) / 1000 }')"
}

# shellcheck disable=SC2086  # the settings are words
"$twill" train $settings run.name=whole > /dev/null
same=0
round=1
while [ "$round" -le "$rounds" ]; do
  name=killed-$round
  # shellcheck disable=SC2086
  "$twill" train $settings "run.name=$name" > /dev/null 2>&1 &
  kills=0
  while [ "$kills" -lt 4 ]; do
    pause
    kill -9 $! 2> /dev/null || true
    wait $! 2> /dev/null || true
    kills=$((kills + 1))
    if [ ! -e "runs/$name/config.toml" ]; then
      # Killed before the run existed: start it as a person would.
      # shellcheck disable=SC2086
      "$twill" train $settings "run.name=$name" > /dev/null 2>&1 &
    else
      "$twill" train --resume "$name" > /dev/null 2>&1 &
    fi
  done
  wait $! || { echo "round $round: the last resume failed"; exit 1; }
  end=checkpoints/step-00000120
  if cmp -s "runs/whole/$end/model.safetensors" "runs/$name/$end/model.safetensors" &&
    cmp -s "runs/whole/$end/state.safetensors" "runs/$name/$end/state.safetensors" &&
    [ "$(timeless whole)" = "$(timeless "$name")" ]; then
    same=$((same + 1))
  else
    echo "round $round: differs from the uninterrupted run"
  fi
  rm -rf "runs/$name"
  round=$((round + 1))
done
echo "$same of $rounds equal to the byte"
[ "$same" -eq "$rounds" ]
