#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the CPU backend's kernels for Arm with NEON, which this project is written for but not yet
# run on: every *_simd.cpp of src/backends/cpu must compile without a warning, for NEON and nothing
# slower. Objects, not syntax alone: g++ finds calls across targets only when it makes code.
#
#   tools/check_neon.sh [FILE…]        default all
#
# Needs a cross compiler (CXX_ARM, default aarch64-linux-gnu-g++) and Highway's headers
# (HWY_INCLUDE, default /usr/include), which are the same for all CPUs.

set -uo pipefail
cd -- "$(dirname -- "$(readlink -f -- "$0")")/.." || exit 2
compiler=${CXX_ARM:-aarch64-linux-gnu-g++}
headers=${HWY_INCLUDE:-/usr/include}
command -v "$compiler" >/dev/null || {
  echo "not checked: there is no $compiler; on Debian or Ubuntu: apt-get install g++-aarch64-linux-gnu," \
    "or name yours in CXX_ARM" >&2
  exit 2
}
[ -f "$headers/hwy/highway.h" ] || {
  echo "not checked: no Highway in $headers; name the folder above hwy/ in HWY_INCLUDE" >&2
  exit 2
}

# Highway alone: the other headers of the host are of another CPU.
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
ln -s "$(readlink -f -- "$headers/hwy")" "$scratch/hwy"

files=("$@")
[ $# -gt 0 ] || mapfile -t files < <(find src/backends/cpu -name "*_simd.cpp" | sort)
failed=0
for file in "${files[@]}"; do
  object=$scratch/$(basename "$file" .cpp).o
  if ! "$compiler" -std=c++20 -O2 -Wall -Wextra -Wshadow -Wconversion -Wpedantic -Werror \
    -ffp-contract=off -Isrc -Iinclude -isystem "$scratch" -c -o "$object" "$file"; then
    echo "$file: does not compile" >&2
  elif ! grep -q 6N_NEON "$object"; then  # a namespace of Highway's, as symbols spell it
    echo "$file: has no code for NEON" >&2
  else
    continue
  fi
  failed=$((failed + 1))
done
echo "$((${#files[@]} - failed)) of ${#files[@]} files compile for NEON with $compiler $("$compiler" -dumpversion)"
[ $failed = 0 ]
