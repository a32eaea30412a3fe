#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Kill -9 at random moments, resume with another number of threads, compare with the uninterrupted run:
# weights, optimizer state, sparsity and metrics (times aside) must be equal to the byte. Four kills a
# round, the recipes in turn. Usage: tools/kill_and_resume.sh [ROUNDS [PROGRAM]]
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
rounds=${1:-25}
twill=${2:-}
if [ -z "$twill" ]; then
  "$root/twill" info > /dev/null
  twill=$root/build/release/bin/twill
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

recipes='dense fst mst venom'
settings='model.layers=2 model.width=64 model.context=64 train.micro_batch=4 train.steps=120
  checkpoint.every=7 eval.every=11 eval.windows=8 model.dropout=0.1 log.sample_tokens=0
  recipe.execution=packed'

settings_of() {
  case $1 in
    venom) echo "$settings recipe=venom model.ffn.activation=relu2" ;;
    *) echo "$settings recipe=$1" ;;
  esac
}

# Metrics without times and what the device says of itself.
timeless() {
  sed -E 's/,"(tokens_per_s|mfu|roof_share|gpu_memory_bytes|power_watts)":[^,}]*//g' "runs/$1/metrics.jsonl"
}

random() { od -An -N2 -tu2 /dev/urandom | tr -d ' '; } # 0 to 65535

# Milliseconds in [20, 420).
pause() { sleep "$(awk -v r="$(random)" 'BEGIN { printf "%.3f", 0.02 + (r % 400) / 1000 }')"; }

threads() { echo "threads=$(($(random) % 3 + 1))"; }

for recipe in $recipes; do
  # shellcheck disable=SC2046  # the settings are words
  "$twill" train $(settings_of "$recipe") "run.name=whole-$recipe" > /dev/null
done

same=0
killed=0
round=1
while [ "$round" -le "$rounds" ]; do
  # shellcheck disable=SC2086
  recipe=$(set -- $recipes && shift $(((round - 1) % $#)) && echo "$1")
  whole=whole-$recipe
  name=killed-$round
  # shellcheck disable=SC2046
  "$twill" train $(settings_of "$recipe") "run.name=$name" "$(threads)" > /dev/null 2>&1 &
  kills=0
  while [ "$kills" -lt 4 ]; do
    pause
    if kill -9 $! 2> /dev/null; then killed=$((killed + 1)); fi
    wait $! 2> /dev/null || true
    kills=$((kills + 1))
    if [ ! -e "runs/$name/config.toml" ]; then
      # Killed before the run existed: start it as a person would.
      rm -rf "runs/$name"
      # shellcheck disable=SC2046
      "$twill" train $(settings_of "$recipe") "run.name=$name" "$(threads)" > /dev/null 2>&1 &
    else
      "$twill" train --resume "$name" "$(threads)" > /dev/null 2>&1 &
    fi
  done
  wait $! || { echo "round $round, $recipe: the last resume failed"; exit 1; }
  end=checkpoints/step-00000120
  equal=yes
  for file in model state sparsity; do
    [ -e "runs/$whole/$end/$file.safetensors" ] || continue
    cmp -s "runs/$whole/$end/$file.safetensors" "runs/$name/$end/$file.safetensors" || equal=no
  done
  [ "$(timeless "$whole")" = "$(timeless "$name")" ] || equal=no
  if [ "$equal" = yes ]; then
    same=$((same + 1))
  else
    echo "round $round, $recipe: differs from the uninterrupted run"
  fi
  rm -rf "runs/$name"
  round=$((round + 1))
done
echo "$killed kills; $same of $rounds runs equal to the byte"
[ "$same" -eq "$rounds" ]
