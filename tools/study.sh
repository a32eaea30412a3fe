#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The runs behind docs/results/recipes.md: every recipe beside dense, three seeds; FST's decay, switch
# and refresh moved; MST against dense at the same FLOPs. About an hour of one core.
#
#   tools/study.sh TEXT OUT [PATTERN]     runs that are missing in OUT; PATTERN (a glob) picks some
#
# TWILL names the program (default ./twill), TWILL_JOBS how many runs go on at once (default 2; each
# takes one thread). tools/plot_study.py OUT makes the tables and pictures.

set -uo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$0")")/.." || exit 2
[ $# -ge 2 ] || { sed -n '4,12p' "$0" | cut -c3-; exit 2; }
text=$1 out=$2 pattern=${3:-*}
twill=${TWILL:-./twill}
lambda=6e-3   # from `twill tune decay`: see the document

# NAME key=value …
runs() {
  local seed
  for seed in 1 2 3; do
    echo "dense-$seed train.seed=$seed recipe.health.virtual_mask=2:4-transposable"
    echo "fst-$seed train.seed=$seed recipe=fst recipe.phase.0.decay.lambda=$lambda"
    echo "s-ste-$seed train.seed=$seed recipe=s-ste"
    echo "ste-$seed train.seed=$seed recipe=ste"
    echo "mst-$seed train.seed=$seed recipe=mst"
    echo "dense-short-$seed train.seed=$seed train.steps=574 schedule.warmup_steps=29"
  done
  local fst="recipe=fst recipe.phase.0.decay.lambda="
  for seed in 1 2 3; do
    for l in 0 6e-4 2e-2 6e-2; do echo "fst-lambda-$l-$seed train.seed=$seed $fst$l"; done
    echo "fst-no-mvue-$seed train.seed=$seed $fst$lambda recipe.phase.0.wgrad.estimator=dense"
    echo "fst-no-finish-$seed train.seed=$seed recipe=$out/no-finish.toml"
    echo "fst-switch-0.5-$seed train.seed=$seed $fst$lambda recipe.phase.0.until=0.5"
    for k in 1 200; do
      echo "fst-refresh-$k-$seed train.seed=$seed $fst$lambda recipe.phase.0.weights.refresh=$k"
    done
    echo "s-ste-recomputed-$seed train.seed=$seed recipe=s-ste recipe.phase.0.weights.scale=recomputed"
  done
  for seed in 1 2 3; do
    echo "relu2-dense-$seed train.seed=$seed model.ffn.activation=relu2"
    echo "venom-$seed train.seed=$seed model.ffn.activation=relu2 recipe=venom"
  done
}

one() {
  local name=$1
  shift
  # shellcheck disable=SC2053
  [[ $name == $pattern ]] || return 0
  [ ! -e "$out/$name/done" ] || return 0
  rm -rf "${out:?}/$name"
  "$twill" train configs/study_char.toml data.train="$text" run.dir="$out" run.name="$name" \
    recipe.execution=masked "$@" \
    >"$out/$name.log" 2>&1 && touch "$out/$name/done" && echo "done $name"
}
export -f one
export text out pattern twill
mkdir -p "$out"
# FST without its dense finish: a recipe of one phase.
cat >"$out/no-finish.toml" <<END
name = "no-finish"
[[phase]]
until   = 1.0
weights = { pattern = "2:4-transposable", projection = "hard", refresh = 40 }
wgrad   = { estimator = "mvue" }
decay   = { on = "gradients", lambda = $lambda }
END
runs | xargs -P "${TWILL_JOBS:-2}" -L 1 bash -c 'one "$@"' one
