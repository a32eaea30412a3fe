#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks that the folders of src/ include one another in one direction only (the table below), and
# that the public headers stand on nothing but themselves and the standard library.
#
#   tools/check_layers.sh              this repository: a line per violation, exit 1 if any
#   tools/check_layers.sh --self-test  plants violations in a temporary tree and sees them caught

set -u

# folder: the folders it may include from, besides its own and twill/
layers='
base:
tensor:     base
ops:        base tensor
backends:   base tensor ops
measure:    base tensor ops
sparsity:   base tensor ops nn measure
nn:         base tensor ops
models:     base tensor ops sparsity nn
io:         base tensor
data:       base tensor io
exchange:   base tensor ops sparsity nn models io data
eval:       base tensor ops sparsity nn models io data
train:      base tensor ops measure sparsity nn models io data exchange
cli:        base tensor ops measure sparsity nn models io data exchange eval train
'

# Reads "path:line:include" and prints what breaks a rule. Paths start at src/ or include/.
judge() {
  LAYERS=$layers awk '
    BEGIN {
      count = split(ENVIRON["LAYERS"], rows, "\n")
      for (i = 1; i <= count; ++i) {
        if (rows[i] == "") continue
        words = split(rows[i], word, /[: ]+/)
        known[word[1]] = 1
        for (w = 2; w <= words; ++w) if (word[w] != "") allowed[word[1], word[w]] = 1
      }
    }
    function report(message) { printf "%s:%s: %s\n", path, line, message; bad = 1 }
    {
      path = $0; sub(/:.*/, "", path)
      rest = substr($0, length(path) + 2)
      line = rest; sub(/:.*/, "", line)
      text = substr(rest, length(line) + 2)
      sub(/^[ \t]*#[ \t]*include[ \t]*/, "", text)
      quoted = substr(text, 1, 1) == "\""
      target = text; sub(/^["<]/, "", target); sub(/[">].*/, "", target)

      n = split(path, from, "/"); m = split(target, to, "/")
      if (from[1] == "include") {
        if (target ~ /^twill\//) next
        if (quoted) report("a public header includes \"" target "\": only twill/ headers may be")
        else if (target !~ /^[a-z0-9_]+$/)
          report("a public header includes <" target ">: only the standard library may be")
        next
      }
      folder = from[2]; other = to[1]
      if (n < 3) { report("lies outside the folders of src/"); next }
      if (!(folder in known)) { report("folder src/" folder " has no row in tools/check_layers.sh"); next }
      if (other == "twill") next
      if (!(other in known && m > 1)) {
        if (quoted) report("\"" target "\": quotes are for our own headers, written from src/")
        next
      }
      if (folder == "backends" && other == "backends") {
        if (from[3] != to[2]) report("backends/" from[3] " includes \"" target "\": backends do not know each other")
      } else if (other == "backends") {
        report(folder " includes \"" target "\": a backend is reached through its kernel table")
      } else if (folder != other && !((folder, other) in allowed)) {
        report(folder " includes \"" target "\": " folder " may not know " other)
      }
      if (target == "models/decoder.h" && folder != "models" && folder != "exchange")
        report(folder " includes \"" target "\": outside of models/ and exchange/ a model is a Model")
      if (path ~ /^src\/backends\/cuda\/device\// && target !~ /^backends\/cuda\/device\//)
        report("device code includes \"" target "\": only backends/cuda/device/ may be")
    }
    END { exit bad }
  '
}

check_tree() (
  cd -- "$1" || exit 2
  for folder in src include; do
    [ ! -d "$folder" ] ||
      find "$folder" -type f \( -name '*.h' -o -name '*.cpp' -o -name '*.cuh' -o -name '*.cu' \)
  done | sort | while IFS= read -r file; do
    grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]' -- "$file" | sed "s|^|$file:|"
  done | judge
)

# --- self-test -----------------------------------------------------------------------------------

plant() { # FILE INCLUDE
  mkdir -p "$tree/$(dirname "$1")"
  printf '// comment\n#include %s\n' "$2" >"$tree/$1"
}

expect_clean() {
  plant "$1" "$2"
  if ! check_tree "$tree" >"$tree/found"; then
    printf 'self-test: %s may include %s, but: %s\n' "$1" "$2" "$(cat "$tree/found")"
    failed=1
  fi
  rm "$tree/$1"
}

expect_caught() {
  plant "$1" "$2"
  if check_tree "$tree" >"$tree/found" || ! grep -q "^$1:2: " "$tree/found"; then
    printf 'self-test: %s includes %s and was not caught\n' "$1" "$2"
    failed=1
  fi
  rm "$tree/$1"
}

self_test() {
  tree=$(mktemp -d)
  trap 'rm -rf -- "$tree"' EXIT
  failed=0
  expect_clean src/base/check.h '<vector>'
  expect_clean src/base/check.h '"twill/error.h"'
  expect_clean src/ops/products/gemm.h '"tensor/view.h"'
  expect_clean src/ops/products/gemm.cpp '"ops/products/gemm.h"'
  expect_clean src/backends/cpu/products/gemm.cpp '"backends/cpu/pool.h"'
  expect_clean src/backends/cuda/device/warp.cuh '"backends/cuda/device/ptx.cuh"'
  expect_clean src/backends/cpu/gelu_simd.cpp '<hwy/highway.h>'
  expect_clean src/models/gpt.h '"nn/linear.h"'
  expect_clean src/models/families.cpp '"models/decoder.h"'
  expect_clean src/exchange/hf_tensors.cpp '"models/decoder.h"'
  expect_caught src/train/step/trainer.cpp '"models/decoder.h"'
  expect_caught src/cli/plan.cpp '"models/decoder.h"'
  expect_clean src/sparsity/plan/probe.h '"measure/turns.h"'
  expect_caught src/measure/turns.h '"sparsity/plan/plan.h"'
  expect_caught src/nn/linear.h '"measure/turns.h"'
  expect_clean src/train/step/trainer.cpp '"data/loader.h"'
  expect_clean src/train/step/trainer.cpp '"twill/twill.h"'
  expect_clean src/cli/main.cpp '"train/step/trainer.h"'
  expect_clean include/twill/twill.h '<string_view>'
  expect_clean include/twill/twill.h '"twill/error.h"'
  expect_caught src/base/check.h '"tensor/view.h"'
  expect_caught src/base/check.h '<tensor/view.h>'
  expect_caught src/tensor/view.h '  "ops/products/gemm.h"'
  expect_caught src/ops/products/gemm.cpp '"backends/cpu/gemm.h"'
  expect_caught src/cli/main.cpp '"backends/cpu/gemm.h"'
  expect_caught src/backends/cpu/products/gemm.cpp '"backends/reference/gemm.h"'
  expect_caught src/backends/cpu/products/gemm.cpp '"nn/linear.h"'
  expect_caught src/backends/cuda/device/warp.cuh '"base/check.h"'
  expect_caught src/nn/linear.h '"sparsity/recipe/recipe.h"'
  expect_caught src/nn/linear.h '"models/gpt.h"'
  expect_caught src/io/checkpoint.h '"ops/products/gemm.h"'
  expect_clean src/data/loader.cpp '"io/json/json_value.h"'
  expect_caught src/io/tensors/safetensors.h '"data/loader.h"'
  expect_caught src/models/gpt.h '"train/step/trainer.h"'
  expect_caught src/train/step/trainer.h '"cli/train.h"'
  expect_caught src/ops/products/gemm.h '"gemm_config.h"'
  expect_caught src/ops/products/gemm.h '"../tensor/view.h"'
  expect_caught src/misc/utils.h '"base/check.h"'
  expect_caught src/utils.h '"base/check.h"'
  expect_caught include/twill/twill.h '"base/check.h"'
  expect_caught include/twill/twill.h '<fmt/format.h>'
  [ "$failed" = 0 ] || exit 1
  echo 'self-test: passed'
}

case $#:${1-} in
  0:) check_tree "$(dirname -- "$(readlink -f -- "$0")")/.." ;;
  1:--self-test) self_test ;;
  *)
    echo 'usage: check_layers.sh [--self-test]' >&2
    exit 2
    ;;
esac
