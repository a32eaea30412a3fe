#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Tries the launcher on a toy project of its own: one line per check, exit 1 when one fails.
# Nothing is installed: where a package must be missing, the launcher is given a PATH without apt
# or without the tool. Its copies look for a GPU, and for CUDA outside the PATH, in the toy's world.
# Usage: launcher_test.sh [PATH OF THE LAUNCHER]

set -u
export LC_ALL=C.UTF-8
unset TWILL_PRESET TWILL_WERROR TWILL_CUDA TWILL_DEPS CUDA_HOME CUDACXX
unset CDPATH CXX CXXFLAGS LDFLAGS NINJA_STATUS

launcher=$(readlink -f -- "${1:-$(dirname -- "$0")/../../twill}")
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM
failures=0

pass() { printf 'ok    %s\n' "$1"; }
fail() {
  printf 'FAIL  %s\n' "$1"
  sed 's/^/      | /' "$work/out" "$work/err"
  failures=$((failures + 1))
}
check() { # NAME CONDITION…
  check_name=$1
  shift
  if "$@"; then pass "$check_name"; else fail "$check_name"; fi
}

# Runs a command and keeps status, stdout and stderr. Standard input is a file, never a terminal.
run() {
  "$@" >"$work/out" 2>"$work/err" </dev/null
  status=$?
}
exits() { [ "$status" = "$1" ]; }
out_has() { grep -qF -- "$1" "$work/out"; }
err_has() { grep -qF -- "$1" "$work/err"; }
err_lacks() { ! err_has "$1"; }

# --- a toy Twill ---------------------------------------------------------------------------------

make_project() {
  mkdir -p "$1/tools"
  sed "s|/dev/nvidiactl|'$work/nvidiactl'|; s|/usr/local/cuda/bin|$work/cuda/bin|" \
    "$launcher" >"$1/twill"
  cat >"$1/CMakePresets.json" <<'PRESETS'
{
  "version": 6,
  "configurePresets": [
    {
      "name": "release",
      "generator": "Ninja",
      "binaryDir": "${sourceDir}/build/${presetName}",
      "cacheVariables": { "TWILL_BUILD_TESTS": "OFF", "TWILL_BUILD_BENCH": "OFF" }
    },
    { "name": "ci", "inherits": "release", "cacheVariables": { "TWILL_BUILD_TESTS": "ON" } }
  ]
}
PRESETS
  cat >"$1/CMakeLists.txt" <<'LISTS'
cmake_minimum_required(VERSION 3.25)
project(toy LANGUAGES CXX)
option(TWILL_BUILD_TESTS "" OFF)
option(TWILL_BUILD_BENCH "" OFF)
option(TWILL_CUDA "" OFF)
if(TWILL_CUDA)
  if(EXISTS ${CMAKE_SOURCE_DIR}/hates_cuda)
    message(FATAL_ERROR "unsupported GNU version")
  endif()
  find_path(TWILL_CUDNN_INCLUDE_DIR cudnn.h HINTS ${CMAKE_SOURCE_DIR} NO_DEFAULT_PATH)
  find_path(TWILL_CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h NO_DEFAULT_PATH
            HINTS ${CMAKE_SOURCE_DIR}/build/deps/cudnn-frontend/include)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(EXISTS ${CMAKE_SOURCE_DIR}/needs_a_library)
  find_package(NoSuchLibrary REQUIRED)
endif()
add_executable(twill main.cpp)
if(TWILL_BUILD_TESTS)
  add_executable(twill_tests EXCLUDE_FROM_ALL main.cpp)
endif()
if(TWILL_BUILD_BENCH)
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/has_benchmark)
    message(FATAL_ERROR "no benchmark library")
  endif()
  add_executable(twill_bench EXCLUDE_FROM_ALL main.cpp)
endif()
LISTS
  cat >"$1/main.cpp" <<'MAIN'
#include <cstdio>
#include <cstring>
int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) std::printf("<%s>", argv[i]);
  std::puts(" version 1");
  if (argc > 1 && std::strcmp(argv[1], "seven") == 0) return 7;
  if (argc > 1 && std::strcmp(argv[1], "echo") == 0)
    for (int c = std::getchar(); c != EOF; c = std::getchar()) std::putchar(c);
  if (argc > 1 && std::strcmp(argv[1], "--run") == 0) {  // as twill_tests does
    const char* filter = argc > 2 ? argv[argc - 1] : "Fails";
    return std::strcmp(filter, "Passes") == 0 ? 0 : std::strcmp(filter, "Fails") == 0 ? 1 : 2;
  }
  return 0;
}
MAIN
  cat >"$1/tools/lint.sh" <<'LINT'
#!/bin/sh
echo "linted $*"
LINT
  chmod +x "$1/twill" "$1/tools/lint.sh"
}

# A folder of links to every command but the ones named: a PATH that lacks them.
make_path_without() {
  lean=$1
  shift
  rm -rf -- "$lean"
  mkdir -p "$lean"
  for folder in /usr/local/sbin /usr/local/bin /usr/sbin /usr/bin /sbin /bin; do
    [ ! -d "$folder" ] || ln -s "$folder"/* "$lean" 2>/dev/null
  done
  for name; do rm -f -- "$lean/$name"; done
}

project="$work/a project with spaces"
make_project "$project"
printf 'do not eat me\n' >"$work/stdin"

# --- the binary ----------------------------------------------------------------------------------

run "$project/twill" train 'two words' '' '*' "it's" -x
check 'first use configures, builds and runs' exits 0
check 'arguments arrive untouched' out_has "<train><two words><><*><it's><-x> version 1"
check 'the first build is told on standard error' err_has 'building twill'
check 'the time of the first build is kept' test -s "$project/build/release/.build_seconds"

begin=$(date +%s%N)
run "$project/twill" train
check 'nothing to do: silent' test ! -s "$work/err"
took=$((($(date +%s%N) - begin) / 1000000))
check "nothing to do: under one second ($took ms)" test "$took" -lt 1000

run "$project/twill"
check 'no arguments stay no arguments' out_has ' version 1'
run "$project/twill" seven
check "the binary's exit code is passed on" exits 7

mkdir -p "$work/else where"
ln -s "$project/twill" "$work/else where/link to twill"
run sh -c 'cd "$1" && exec "./link to twill" here' sh "$work/else where"
check 'through a link, from another folder' out_has '<here> version 1'
run sh -c 'cd "$1" && PATH="$2:$PATH" && exec twill here' sh "$work/else where" "$project"
check 'found in the PATH' out_has '<here> version 1'
run sh -c 'cd "$1" && exec sh twill here' sh "$project"
check 'as an argument of sh' out_has '<here> version 1'

sed -i 's/version 1/version 2/' "$project/main.cpp"
run "$project/twill" train
check 'a changed source is built again' out_has 'version 2'

sed -i 's/version 2");/version 3") broken;/' "$project/main.cpp"
run "$project/twill" train
check 'a broken source: exit 1' exits 1
check "a broken source: the compiler's words" err_has 'error: expected'
check 'a broken source: the old binary is not run' test ! -s "$work/out"
sed -i 's/version 3") broken;/version 3");/' "$project/main.cpp"

run sh -c '"$1" echo <"$2"' sh "$project/twill" "$work/stdin"
check 'standard input is left for the binary' out_has 'do not eat me'

sed -i 's/version 3/version 4/' "$project/main.cpp"
(cd "$work" && exec "$project/twill" first) >"$work/one" 2>&1 &
one=$!
(cd "$work" && exec "$project/twill" second) >"$work/two" 2>&1 &
two=$!
wait "$one" && wait "$two"
status=$?
cat "$work/one" "$work/two" >"$work/out"
check 'two at the same time: both run' exits 0
check 'two at the same time: the first is right' grep -qF '<first> version 4' "$work/one"
check 'two at the same time: the second is right' grep -qF '<second> version 4' "$work/two"

moved="$work/moved"
cp -R "$project" "$moved"
sed -i 's/version 4/version 5/' "$moved/main.cpp"
run "$moved/twill" train
check 'a copied folder is configured again' out_has 'version 5'
check 'a copied folder: nothing is left beside' test ! -e "$moved/build/.elsewhere-release"
run "$project/twill" train
check 'the original is left alone' out_has 'version 4'

broken="$work/broken"
cp -R "$project" "$broken"
touch "$broken/needs_a_library"
run "$broken/twill" train
check 'a copied folder that cannot be configured: fails' test "$status" -ne 0
check 'a copied folder that cannot be configured: the program stays' \
  test "$("$broken/build/release/bin/twill" x)" = '<x> version 4'
run "$broken/twill" train
check 'a second attempt: the program stays' \
  test "$("$broken/build/release/bin/twill" x)" = '<x> version 4'
rm "$broken/needs_a_library"
sed -i 's/version 4/version 8/' "$broken/main.cpp"
run "$broken/twill" train
check 'put right: it is built' out_has 'version 8'
check 'put right: nothing is left beside' test ! -e "$broken/build/.elsewhere-release"

if command -v script >/dev/null; then
  sed -i 's/version 4/version 6/' "$project/main.cpp"
  run env TERM=xterm script -qec "'$project/twill' train" /dev/null
  check 'on a terminal: a line that updates' out_has 'building twill ['
  check 'on a terminal: runs' out_has 'version 6'
fi

# --- test, lint, bench ---------------------------------------------------------------------------

run "$project/twill" test Passes
check 'test FILTER: the chosen test passes' exits 0
run "$project/twill" test
check 'test: a failing test is exit 1' exits 1
run "$project/twill" test NoSuchTest
check 'test FILTER without a match: exit 2' exits 2
run "$project/twill" test --list
check 'test --list asks the tests for their names' out_has '<--names> version'
run "$project/twill" test --except=some/file Passes
check 'test --except: handed on with the filter' out_has '<--run><--except=some/file><Passes> '
run "$project/twill" test --wrong
check 'test with a wrong option: exit 2' exits 2
run "$project/twill" test One Two
check 'test with two filters: exit 2' exits 2
run "$project/twill" train
check 'after test nothing is built again' test ! -s "$work/err"
check 'after test the option stays' grep -q '^TWILL_BUILD_TESTS:BOOL=ON' \
  "$project/build/release/CMakeCache.txt"
run env TWILL_PRESET=ci "$project/twill" test Passes
check 'TWILL_PRESET: another folder' test -x "$project/build/ci/bin/twill_tests"
run env TWILL_PRESET=none "$project/twill" train
check 'TWILL_PRESET unknown: exit 2' exits 2

run "$project/twill" lint format house
check 'lint runs the lint script' out_has 'linted format house'
check 'lint of sources alone configures nothing' test ! -s "$work/err"

unbuilt="$work/unbuilt"
make_project "$unbuilt"
run "$unbuilt/twill" test --help
check 'test --help: usage' out_has 'usage: ./twill test'
run "$unbuilt/twill" lint --help
check 'lint --help is for the script' out_has 'linted --help'
run "$unbuilt/twill" lint --all format
check 'lint --all is for the script' out_has 'linted --all format'
cp -- "$(dirname -- "$launcher")/tools/fuzz.sh" "$(dirname -- "$launcher")/tools/fetch_deps.sh" \
  "$unbuilt/tools"
run "$unbuilt/twill" fuzz --help
check 'fuzz --help: its own page' out_has 'tools/fuzz.sh [TARGET'
check 'fuzz --help: nothing else' test "$status$(wc -l <"$work/out")" -lt 40
run "$unbuilt/twill" deps --help
check 'deps --help: its own page' out_has 'tools/fetch_deps.sh [NAME'
run "$unbuilt/twill" bench op --help
check 'bench op --help: its own page' out_has 'usage: ./twill bench op [FILTER]'
mkdir "$unbuilt/docs"
printf '%s\n' '| `./twill train [key=value]` | trains | [x](x.md) |' '| `./twill info` | facts | |' \
  >"$unbuilt/docs/commands.md"
run "$unbuilt/twill" train --help
check 'train --help before a build: what it is' out_has './twill train [key=value]'
check 'train --help before a build: no other command' test "$(grep -c '^./twill' "$work/out")" = 1
run "$unbuilt/twill" --help
check '--help before a build: all commands' out_has './twill info'
check 'help builds nothing' test ! -e "$unbuilt/build"
cp -- "$project/main.cpp" "$work/main.cpp"
sed -i 's/version [0-9]*/version 99/' "$project/main.cpp"
run "$project/twill" train --help
check 'help of an old binary builds nothing' err_lacks 'building'
check 'help of an old binary is its own' out_has '<train><--help>'
cp -- "$work/main.cpp" "$project/main.cpp"

run "$project/twill" bench step 'x y'
check 'bench step belongs to the binary' out_has '<bench><step><x y>'
touch "$project/has_benchmark"
run "$project/twill" bench op 'gemm/.*' --benchmark_repetitions=2
check 'bench op runs twill_bench' out_has '<--benchmark_filter=gemm/.*><--benchmark_repetitions=2>'
rm "$project/has_benchmark"
run "$moved/twill" bench op
check 'bench op without its library fails' test "$status" -ne 0
run "$moved/twill" train
check 'bench op without its library harms nothing' out_has 'version 5'

# --- what is missing -----------------------------------------------------------------------------

poor="$work/poor"
make_project "$poor"
make_path_without "$work/bin" apt-get sudo ninja python3 xxd
run env PATH="$work/bin" "$poor/twill" train
check 'no ninja, no apt: exit 2' exits 2
check 'no ninja, no apt: named' err_has 'missing: ninja-build'

make_path_without "$work/bin" python3 xxd sudo
run env PATH="$work/bin" "$poor/twill" train
check 'python3, xxd and sudo are not needed' out_has '<train> version 1'

# An apt that installs ninja and writes down what it was asked; a sudo that grants everything.
make_generous_path() {
  make_path_without "$work/bin" ninja sudo apt-get
  cat >"$work/bin/apt-get" <<APT
#!/bin/sh
echo "\$DEBIAN_FRONTEND: \$*" >>"$work/apt"
case "\$*" in *' install '*) ln -s "$(command -v ninja)" "$work/bin/ninja" ;; esac
APT
  cat >"$work/bin/sudo" <<SUDO
#!/bin/sh
echo "sudo: \$*" >>"$work/apt"
[ "\$1" = -n ] && shift && exec "\$@"
SUDO
  chmod +x "$work/bin/apt-get" "$work/bin/sudo"
  : >"$work/apt"
  chmod a+w "$work/bin" "$work/apt"
}

rm -rf "$poor/build"
make_generous_path
run env PATH="$work/bin" "$poor/twill" train
cat "$work/apt" >>"$work/out"
check 'with apt: what is missing is said' err_has 'missing: ninja-build'
check 'with apt: installs and goes on' out_has '<train> version 1'
check 'with apt: update comes first' \
  grep -q 'noninteractive: .* update$' "$work/apt"
check 'with apt: only what is missing, without a question' \
  grep -q 'noninteractive: .* -y .* install --no-install-recommends ninja-build$' "$work/apt"

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  rm -rf "$poor/build"
  chmod 755 "$work" && chmod -R a+rX "$poor" && mkdir "$poor/build" && chmod 777 "$poor/build"
  make_path_without "$work/bin" ninja sudo
  run setpriv --reuid 65534 --regid 65534 --clear-groups \
    env PATH="$work/bin" "$poor/twill" train
  check 'not root, no sudo: exit 2' exits 2
  check 'not root, no sudo: the one command' \
    err_has 'apt-get install --no-install-recommends ninja-build'

  make_generous_path
  run setpriv --reuid 65534 --regid 65534 --clear-groups \
    env PATH="$work/bin" "$poor/twill" train
  check 'not root, sudo: installs and goes on' out_has '<train> version 1'
  check 'not root, sudo: never asks for a password' grep -q '^sudo: -n env ' "$work/apt"

  rm -rf "$poor/build/release"
  run setpriv --reuid 65534 --regid 65534 --clear-groups "$poor/twill" train
  check 'not root: builds when nothing is missing' out_has '<train> version 1'
  run "$poor/twill" train
  chmod -R go-w "$poor/build" && chown -R 0:0 "$poor/build"
  run setpriv --reuid 65534 --regid 65534 --clear-groups "$poor/twill" train
  check 'read-only: the binary that is there is used' out_has '<train> version 1'
  check 'read-only: and this is said' err_has 'cannot write'
fi

touch "$poor/needs_a_library"
make_path_without "$work/bin" apt-get sudo dpkg-query
rm -rf "$poor/build"
run env PATH="$work/bin" "$poor/twill" train
check 'no dpkg, a library is missing: exit 2' exits 2
check "no dpkg, a library is missing: cmake's words" err_has 'NoSuchLibrary'
check 'no dpkg, a library is missing: the packages' err_has 'libfmt-dev'

# --- the GPU -------------------------------------------------------------------------------------

gpu="$work/gpu project"
make_project "$gpu"
check 'the copy looks for its own GPU' test "$(grep -cF "$work/nvidiactl" "$gpu/twill")" = 1
check 'the copy looks for its own CUDA' grep -qF ":$work/cuda/bin\"" "$gpu/twill"
touch "$gpu/cudnn.h"
make_path_without "$work/bin" nvcc
cache="$gpu/build/release/CMakeCache.txt"

make_nvcc() { # FILE RELEASE
  mkdir -p "$(dirname -- "$1")"
  printf '#!/bin/sh\necho "Cuda compilation tools, release %s, V%s.131"\n' "$2" "$2" >"$1"
  chmod +x "$1"
}
make_fetch() { # COMMANDS of a tools/fetch_deps.sh that also writes down what it was asked
  printf '#!/bin/sh\necho "asked: $*" >>"%s"\n%s\n' "$work/asked" "$1" >"$gpu/tools/fetch_deps.sh"
  chmod +x "$gpu/tools/fetch_deps.sh"
  : >"$work/asked"
}
cuda_is() { grep -q "^TWILL_CUDA:BOOL=$1\$" "$cache"; }
err_lines() { test "$(grep -c "$2" "$work/err")" = "$1"; }
twill() { run env PATH="$work/bin" "$@" "$gpu/twill" train; }
folder="'$gpu/build/deps/cudnn-frontend/include'"
brings_headers="mkdir -p $folder && touch $folder/cudnn_frontend.h"

make_fetch "$brings_headers"
make_nvcc "$work/cuda/bin/nvcc" 12.4
twill
check 'no GPU: CUDA stays off, nvcc or not' cuda_is OFF
check 'no GPU: runs' out_has '<train> version 1'
check 'no GPU: not a word of it' err_lines 0 'GPU\|CUDA\|nvcc'
check 'no GPU: nothing is fetched' test ! -s "$work/asked"
twill
check 'no GPU: nothing to do is silent' test ! -s "$work/err"

rm -rf "$work/cuda"
: >"$work/nvidiactl"
twill
check 'a GPU, no nvcc: runs on the CPU' out_has '<train> version 1'
check 'a GPU, no nvcc: CUDA stays off' cuda_is OFF
check 'a GPU, no nvcc: one line, and nothing is configured' err_lines 1 ''
check 'a GPU, no nvcc: what is missing' err_has 'there is an NVIDIA GPU, but no nvcc in PATH'
check 'a GPU, no nvcc: what it costs' err_has 'the CPU alone, many times slower'
check 'a GPU, no nvcc: what to do' err_has 'install the CUDA toolkit, 12.4 or later, or set TWILL_CUDA=OFF'
twill TWILL_CUDA=OFF
check 'a GPU, no nvcc, TWILL_CUDA=OFF: silent' test ! -s "$work/err"
twill TWILL_PRESET=ci
check 'a GPU, no nvcc: other presets do not ask' err_lines 0 'GPU'
twill TWILL_CUDA=ON
check 'TWILL_CUDA=ON without nvcc: exit 2' exits 2
check 'TWILL_CUDA=ON without nvcc: why' err_has 'the CUDA backend cannot be built: no nvcc in PATH'
twill TWILL_CUDA=maybe
check 'TWILL_CUDA=maybe: exit 2' exits 2
check 'TWILL_CUDA=maybe: why' err_has "'maybe' is not ON, OFF or auto"

for release in 9.2 11.8 12.3; do
  make_nvcc "$work/cuda/bin/nvcc" "$release"
  twill
  check "a GPU, nvcc $release: one line" err_lines 1 "is of CUDA $release, older than 12.4"
  check "a GPU, nvcc $release: runs on the CPU" out_has '<train> version 1'
  check "a GPU, nvcc $release: CUDA stays off" cuda_is OFF
done

make_nvcc "$work/cuda/bin/nvcc" 12.4
twill
check 'a GPU and nvcc: a folder without CUDA is configured again' err_has 'configuring (release, TWILL_CUDA)'
check 'a GPU and nvcc: CUDA is on' cuda_is ON
check 'a GPU and nvcc: this nvcc' grep -q "^CMAKE_CUDA_COMPILER:.*=$work/cuda/bin/nvcc\$" "$cache"
check 'a GPU and nvcc: the headers are fetched' \
  test "$(cat "$work/asked")" = 'asked: cudnn-frontend'
check 'a GPU and nvcc: the headers are found' \
  grep -q '^TWILL_CUDNN_FRONTEND_INCLUDE_DIR:.*/build/deps/cudnn-frontend/include$' "$cache"
check 'a GPU and nvcc: runs' out_has '<train> version 1'
twill
check 'a GPU and nvcc: nothing to do is silent' test ! -s "$work/err"

make_nvcc "$work/other/bin/nvcc" 13.0
twill CUDA_HOME="$work/other"
check 'another nvcc: the folder keeps its own' test ! -s "$work/err"
rm -rf "$work/cuda"
touch "$gpu/build/release/old"
twill CUDA_HOME="$work/other"
check 'its own nvcc is gone: configured from scratch' test ! -e "$gpu/build/release/old"
check 'its own nvcc is gone: with the other' \
  grep -q "^CMAKE_CUDA_COMPILER:.*=$work/other/bin/nvcc\$" "$cache"
rm "$work/nvidiactl"
twill CUDA_HOME="$work/other"
check 'the GPU is gone: CUDA stays, silent' test ! -s "$work/err"
rm -rf "$work/other"
twill
check 'GPU and nvcc are gone: CUDA goes' cuda_is OFF
check 'GPU and nvcc are gone: runs' out_has '<train> version 1'

make_nvcc "$work/bin/nvcc" 12.10
twill TWILL_CUDA=ON
check 'TWILL_CUDA=ON without a GPU: CUDA is on' cuda_is ON
twill TWILL_CUDA=OFF
check 'TWILL_CUDA=OFF: CUDA is off again' cuda_is OFF
: >"$work/nvidiactl"
twill
check 'nvcc in the PATH is found' grep -q "^CMAKE_CUDA_COMPILER:.*=$work/bin/nvcc\$" "$cache"
touch "$gpu/hates_cuda" "$gpu/CMakeLists.txt"
rm -rf "$gpu/build/release"
twill
check 'CUDA does not configure: exit 1' exits 1
check "CUDA does not configure: cmake's words" err_has 'unsupported GNU version'
check 'CUDA does not configure: what to do' err_has 'TWILL_CUDA=OFF builds for the CPU alone'
twill TWILL_CUDA=OFF
check 'CUDA does not configure: the CPU does' out_has '<train> version 1'
rm "$gpu/hates_cuda"

# --- what a CUDA build fetches -------------------------------------------------------------------

rm -rf "$gpu/build"
make_fetch 'echo "twill: first line" >&2; echo "twill: the network is down" >&2; exit 1'
twill
check 'deps fail: the build goes on' out_has '<train> version 1'
check 'deps fail: CUDA is on' cuda_is ON
check 'deps fail: one line with the reason and what it costs' err_has \
  'the network is down; without it attention on the GPU will be several times slower: the build goes on'
check 'deps fail: no other line' err_lines 0 'first line'
twill
check 'deps fail: not tried at every start' test "$(cat "$work/asked")" = 'asked: cudnn-frontend'
sh -c "$brings_headers"
twill
check 'deps by hand: configured again' \
  grep -q '^TWILL_CUDNN_FRONTEND_INCLUDE_DIR:.*/build/deps/cudnn-frontend/include$' "$cache"
check 'deps by hand: nothing is fetched' test "$(cat "$work/asked")" = 'asked: cudnn-frontend'
twill
check 'deps by hand: once' test ! -s "$work/err"

rm -rf "$gpu/build"
make_fetch "$brings_headers"
twill TWILL_DEPS=off
check 'TWILL_DEPS=off: nothing is fetched' test ! -s "$work/asked"
rm -rf "$gpu/build" "$gpu/cudnn.h"
twill
check 'no cudnn.h: nothing is fetched' test ! -s "$work/asked"
check 'no cudnn.h: one line' err_has 'cudnn.h is not found: attention on the GPU will be several times slower'
run "$gpu/twill" deps cutlass 'x y'
check 'deps runs its script' test "$(cat "$work/asked")" = 'asked: cutlass x y'

# The script itself, with a python3 whose pip brings a wheel of one line.
fetch="$work/fetch project"
mkdir -p "$fetch/tools"
sum=$(printf 'a wheel\n' | sha256sum)
sed "s/sha256=c6[0-9a-f]*/sha256=${sum%% *}/" "$(dirname -- "$launcher")/tools/fetch_deps.sh" \
  >"$fetch/tools/fetch_deps.sh"
chmod +x "$fetch/tools/fetch_deps.sh"
make_path_without "$work/bin" python3
fetch() { run env PATH="$work/bin" "$fetch/tools/fetch_deps.sh" "$@"; }
fetched="$fetch/build/deps/cudnn-frontend/include/cudnn_frontend.h"
left_over() { find "$fetch/build/deps" -mindepth 1 ! -name .lock; }

fetch cudnn-frontend
check 'deps without python3: exit 1' exits 1
check 'deps without python3: what to do' err_has 'apt-get install python3-pip'
cat >"$work/bin/python3" <<'PYTHON'
#!/bin/sh
case "$1 $2 $3" in
  '-m pip download')
    echo "$*" >>"$ASKED"
    while [ "$1" != --dest ]; do shift; done
    mkdir -p "$2" && echo "$WHEEL" >"$2/toy.whl" && exit "$PIP_STATUS"
    ;;
  '-m zipfile -e') mkdir -p "$5/include" && touch "$5/include/$HEADER" ;;
esac
PYTHON
chmod +x "$work/bin/python3"
export ASKED="$work/asked" WHEEL='another wheel' HEADER=cudnn_frontend.h PIP_STATUS=0
fetch cudnn-frontend
check 'deps, a wrong checksum: exit 1' exits 1
check 'deps, a wrong checksum: said' err_has "is wrong, expected ${sum%% *}, got "
check 'deps, a wrong checksum: nothing is left' test -z "$(left_over)"
export WHEEL='a wheel' HEADER=other.h
fetch cudnn-frontend
check 'deps, no such header in the wheel: exit 1' exits 1
check 'deps, no such header in the wheel: said' err_has 'no include/cudnn_frontend.h in nvidia-cudnn'
check 'deps, no such header in the wheel: nothing is left' test -z "$(left_over)"
export HEADER=cudnn_frontend.h
: >"$work/asked"
fetch cudnn-frontend
check 'deps: exit 0' exits 0
check 'deps: the pinned version' grep -q ' nvidia-cudnn-frontend==[0-9.]*$' "$work/asked"
check 'deps: unpacked' test -f "$fetched"
check 'deps: nothing else is left' test "$(left_over | grep -cv /cudnn-frontend)" = 0
: >"$work/asked"
fetch cudnn-frontend
check 'deps again: exit 0' exits 0
check 'deps again: nothing is downloaded' test ! -s "$work/asked"
echo 'older' >"$fetch/build/deps/cudnn-frontend/.pin"
export PIP_STATUS=1
fetch cudnn-frontend
check 'deps, another version, no network: exit 1' exits 1
check 'deps, another version, no network: said' err_has 'pip could not download nvidia-cudnn-front'
check 'deps, another version, no network: what was there stays' test -f "$fetched"
export PIP_STATUS=0
fetch cudnn-frontend
check 'deps, another version: replaced' grep -q '^nvidia-' "$fetch/build/deps/cudnn-frontend/.pin"
fetch nothing
check 'deps of an unknown name: exit 2' exits 2
check 'deps of an unknown name: the names' err_has "no 'nothing': cudnn-frontend, cutlass, cusparselt"

if [ "$failures" -gt 0 ]; then
  printf 'launcher: %d checks failed\n' "$failures"
  exit 1
fi
printf 'launcher: all checks passed\n'
