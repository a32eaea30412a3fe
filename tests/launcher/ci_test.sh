#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Tries .ci/run and tools/full_check.sh on a toy project whose tools write down what they are asked:
# what the tables say of a machine that lacks something, and what of CUTLASS a change has compiled.
# One line per check, exit 1 when one fails.

set -u
export LC_ALL=C.UTF-8
unset CUDA_HOME CUDACXX CI TWILL_CI_NOTE TWILL_CI_CUDA TWILL_CI_EVERYTHING TWILL_LINT_BASE
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE

root=$(readlink -f -- "$(dirname -- "$0")/../..")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM
failures=0

check() { # NAME CONDITION…
  check_name=$1
  shift
  if "$@"; then printf 'ok    %s\n' "$check_name"; else
    printf 'FAIL  %s\n' "$check_name"
    sed 's/^/      | /' "$work/out" "$work/asked"
    failures=$((failures + 1))
  fi
}
exits() { [ "$status" = "$1" ]; }
says() { grep -qE -- "$1" "$work/out"; }
asked() { grep -qxF -- "$1" "$work/asked"; }
run() {
  : >"$work/asked"
  PATH="$work/bin" "$@" >"$work/out" 2>&1 </dev/null
  status=$?
}

# --- the toy -------------------------------------------------------------------------------------

toy=$work/toy
folder=src/backends/cuda
products=$folder/sparse_products
mkdir -p "$toy/.ci" "$toy/tools" "$toy/$products" "$work/bin"
for script in .ci/run tools/full_check.sh tools/changed.sh; do
  sed "s|/usr/local/cuda|$work/cuda|g" "$root/$script" >"$toy/$script"
done
for header in one two; do echo '#pragma once' >"$toy/$products/$header.cuh"; done
touch "$toy/$products/sparse_ways.cmake" "$toy/words.md"
echo build >"$toy/.gitignore"

# Everything but what is tried here.
for path in /usr/local/bin /usr/bin /bin; do
  [ ! -d "$path" ] || ln -s "$path"/* "$work/bin" 2>/dev/null
done
stub() { # NAME, commands from standard input
  rm -f -- "$1"
  { printf '#!/bin/sh\necho "%s $*" >>"%s"\n' "${1##*/}" "$work/asked" && cat; } >"$1"
  chmod +x "$1"
}
for tool in nvcc cmake ninja aarch64-linux-gnu-g++; do rm -f -- "$work/bin/$tool"; done
stub "$toy/twill" <'/dev/null'

# A build of two products of CUTLASS, each from a header of its own; none where the machine lacks it.
stub "$work/bin/cmake" <<CMAKE
[ "\$1" = --preset ] || exit 0
sources=build/cuda-check/$products
mkdir -p "\$sources"
found=/headers
[ ! -e "$work/no_cutlass" ] || found=TWILL_CUTLASS_INCLUDE_DIR-NOTFOUND
echo "TWILL_CUTLASS_INCLUDE_DIR:PATH=\$found" >build/cuda-check/CMakeCache.txt
for name in one two; do
  echo "#include \"backends/cuda/sparse_products/\$name.cuh\"" >"\$sources/sparse_\$name.cu"
done
CMAKE
object() { echo "$folder/CMakeFiles/twill_sparse_products.dir/sparse_products/sparse_$1.cu.o"; }
stub "$work/bin/ninja" <<NINJA
[ "\$3" = -t ] || exit 0
[ ! -e "$work/no_objects" ] || exit 0
echo "$(object two): CUDA_COMPILER"
echo "$(object one): CUDA_COMPILER"
NINJA

git() { command git -C "$toy" -c user.name=x -c user.email=x@y "$@" >/dev/null 2>&1; }
chmod +x "$toy/.ci/run" "$toy/tools/full_check.sh" "$toy/tools/changed.sh"
git init -b main && git add . && git commit -m one && git commit --allow-empty -m two
built() { asked "ninja -C build/cuda-check $*"; }
clean() { git checkout . && git clean -fd; }

# --- what a machine lacks ------------------------------------------------------------------------

run "$toy/.ci/run" cuda
check 'no nvcc: no fault' exits 0
check 'no nvcc: the table says so' says '^cuda .* skipped: no nvcc$'
check 'no nvcc: not called passed' test -z "$(grep 'passed' "$work/out")"
run "$toy/tools/full_check.sh" cuda
check 'a release without nvcc: exit 1' exits 1
check 'a release without nvcc: said' says '^cuda .* skipped: no nvcc$'
run "$toy/tools/full_check.sh" neon
check 'a release without a cross compiler: exit 1' exits 1
check 'a release without a cross compiler: said' says '^neon .* skipped: no aarch64'

stub "$work/bin/nvcc" <'/dev/null'
touch "$work/no_cutlass"
run "$toy/.ci/run" cuda
check 'no CUTLASS: no fault' exits 0
check 'no CUTLASS: the table says so' says '^cuda .* passed without CUTLASS$'
run "$toy/tools/full_check.sh" cuda
check 'a release without CUTLASS: exit 1' exits 1
rm "$work/no_cutlass"
run "$toy/.ci/run" cuda
check 'all is there: passed' says '^cuda .* passed$'
run "$toy/tools/full_check.sh" cuda
check 'a release that has all: exit 0' exits 0
stub "$toy/twill" <<'TWILL'
echo "CI is $CI"
TWILL
run "$toy/tools/full_check.sh" lint
check 'a release allows no more skips than CI' says '^CI is true$'
check 'a part without a fault has passed' says '^lint .* passed$'
echo 'exit 3' >>"$toy/twill"
run "$toy/tools/full_check.sh" lint
check 'a part that failed' says '^lint .* failed$'
run "$toy/.ci/run" lint
check 'a stage that failed' says '^lint .* failed \(3\)$'
git checkout twill

# --- what a change has compiled ------------------------------------------------------------------

run "$toy/.ci/run" cuda
check 'nothing changed: one object' built "$(object one)"
echo '// x' >>"$toy/words.md"
run "$toy/.ci/run" cuda
check 'no source changed: one object' built "$(object one)"
echo '// x' >>"$toy/$products/two.cuh"
run "$toy/.ci/run" cuda
check 'a header changed: those that include it' built "$(object one) $(object two)"
clean && echo '#include "backends/cuda/sparse_products/common.h"' >"$toy/$products/two.cuh"
touch "$toy/$products/common.h" && git add . && git commit -m three
echo '// x' >>"$toy/$products/common.h"
run "$toy/.ci/run" cuda
check 'a header of that header' built "$(object one) $(object two)"
clean && git commit --allow-empty -m four
echo '# x' >>"$toy/$products/sparse_ways.cmake"
run "$toy/.ci/run" cuda
check 'the table they are written from: all' built "$(object one) $(object two)"
clean
TWILL_CI_EVERYTHING=1 run "$toy/.ci/run" cuda
check 'everything: all' built "$(object one) $(object two)"
rm "$toy/$products/one.cuh"
run "$toy/.ci/run" cuda
check 'a source that includes what is not there is a fault' exits 1
clean && touch "$work/no_objects"
run "$toy/.ci/run" cuda
check 'no object by such a name is a fault' exits 1
check 'and not a build of everything' test -z "$(grep 'ninja -C build/cuda-check$' "$work/asked")"

if [ "$failures" -gt 0 ]; then
  printf 'ci: %d checks failed\n' "$failures"
  exit 1
fi
printf 'ci: all checks passed\n'
