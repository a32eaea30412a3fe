#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fetches what the CUDA backend uses and no Debian package holds into build/deps/NAME: the wheels
# that NVIDIA publishes, pinned by version and checksum. pip downloads them, from wherever it is set
# to look (PIP_INDEX_URL and the like); nothing of them is installed or run.
#
#   tools/fetch_deps.sh [NAME …]
#
#   cudnn-frontend  headers: attention by cuDNN (the default)
#   cutlass         headers: the quicker products of 2:4 matrices on Hopper (the default)
#   cusparselt      headers and library: a column of `twill bench gemm`
#
# What is there already is left alone. The last line on standard error says what went wrong.

set -u
script=$(readlink -f -- "$0")
cd -- "$(dirname -- "$script")/.." || exit 2
case " $* " in
  *' --help '* | *' -h '*) sed -n '4,/^$/s/^# \{0,1\}//p' "$script" && exit 0 ;;
esac

say() { printf 'twill: %s\n' "$*" >&2; }
die() {
  exit_code=$1
  shift
  say "$@"
  exit "$exit_code"
}

# The wheel, the sum of its file, its size, what is taken from it ("FOLDER THERE:FOLDER HERE") and a
# file that must be there then. The headers in a wheel for x86_64 are those of every machine.
read_pin() {
  case $1 in
    cudnn-frontend)
      wheel=nvidia-cudnn-frontend==1.32.0
      sha256=c6006556017a4d1c914c52a556c71b1267f2d6a0500f742e7b4edef539878df0
      size='12 MB'
      parts=include:include
      witness=include/cudnn_frontend.h
      ;;
    cutlass)
      wheel=nvidia-cutlass==4.2.0.0
      sha256=f9599ada45c7bcb6bf53f7d3f0a7d154183e53451c01bfa59eecd37dd4a693f6
      size='6 MB'
      parts=cutlass_library/source/include:include
      witness=include/cutlass/cutlass.h
      ;;
    cusparselt)
      wheel=nvidia-cusparselt-cu13==0.8.1
      sha256=786ce87568c303fadb5afcc7102d454cd3040d75f6f8626f5db460d1871f4dd0
      size='170 MB'
      parts='nvidia/cusparselt/include:include nvidia/cusparselt/lib:lib'
      witness=lib/libcusparseLt.so.0
      machine=$(uname -m)
      [ "$machine" = x86_64 ] || die 2 "cusparselt: the pinned library is for x86_64, not $machine"
      ;;
    *) die 2 "deps: no '$1': cudnn-frontend, cutlass, cusparselt" ;;
  esac
}

# pip has its own wait between tries; the default of five would hold up a build without a network.
# A manylinux name does not stand for older ones in every pip, so all are named.
download() {
  PIP_RETRIES=${PIP_RETRIES:-2} python3 -m pip download --no-deps --only-binary=:all: \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \
    --platform manylinux2014_x86_64 --python-version 3.11 --implementation cp \
    --disable-pip-version-check --dest "$1" "$wheel" >"$log" 2>&1 </dev/null
}

fetch() {
  name=$1
  read_pin "$name"
  pin="$wheel sha256:$sha256"
  if [ "$(cat "$deps/$name/.pin" 2>/dev/null)" = "$pin" ]; then
    say "$name: $wheel is in $deps/$name"
    return
  fi
  python3 -m pip --version >/dev/null 2>&1 ||
    die 1 "$name: python3 with pip is needed to download $wheel: apt-get install python3-pip"

  scratch=$(mktemp -d "$deps/.fetch-XXXXXX") || die 2 "cannot write to $PWD/$deps"
  say "$name: downloading $wheel ($size)"
  download "$scratch/wheel" ||
    die 1 "$name: pip could not download $wheel (no network, or not in its index): see $log"
  file=$(find "$scratch/wheel" -name '*.whl')
  [ -f "$file" ] || die 1 "$name: pip was to bring one wheel, and brought '$file': see $log"
  sum=$(sha256sum <"$file")
  sum=${sum%% *}
  [ "$sum" = "$sha256" ] ||
    die 1 "$name: the checksum of ${file##*/} is wrong, expected $sha256, got $sum: not unpacked"

  mkdir -- "$scratch/all" "$scratch/new"
  python3 -m zipfile -e "$file" "$scratch/all" >"$log" 2>&1 ||
    die 1 "$name: cannot unpack ${file##*/} (is the disk full?): see $log"
  for part in $parts; do
    mv -- "$scratch/all/${part%%:*}" "$scratch/new/${part#*:}" ||
      die 1 "$name: no ${part%%:*} in $wheel"
  done
  find "$scratch/all" -path '*.dist-info/licenses' -exec mv -- {} "$scratch/new/licenses" \; -prune
  if [ "$name" = cusparselt ]; then # the name that a linker looks for
    ln -s libcusparseLt.so.0 "$scratch/new/lib/libcusparseLt.so"
    mv -- "$scratch/all/nvidia/cusparselt/LICENSE.txt" "$scratch/new"
  fi
  [ -f "$scratch/new/$witness" ] || die 1 "$name: no $witness in $wheel"
  printf '%s\n' "$pin" >"$scratch/new/.pin"

  # Whoever looks finds all of it or nothing.
  if [ -e "$deps/$name" ]; then mv -- "$deps/$name" "$scratch/old"; fi
  mv -T -- "$scratch/new" "$deps/$name" || die 1 "$name: cannot write $deps/$name"
  rm -rf -- "$scratch"
  say "$name: $wheel is in $deps/$name"
}

[ $# -gt 0 ] || set -- cudnn-frontend cutlass
for name; do read_pin "$name"; done

deps=build/deps
log=$PWD/build/.log-deps
scratch=
mkdir -p -- "$deps" 2>/dev/null
(: >>"$deps/.lock" && : >>"$log") 2>/dev/null || die 2 "cannot write to $PWD/$deps"
exec 8>>"$deps/.lock"
if command -v flock >/dev/null && ! flock -n 8; then
  say "another twill is fetching into $deps; waiting for it"
  flock 8
fi
trap '[ -z "$scratch" ] || rm -rf -- "$scratch"' EXIT
trap 'exit 130' INT TERM
for name; do fetch "$name"; done
