#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The promise of the first page, measured: in a Debian 12 root with nothing preinstalled, as root,
# `./twill train` installs, builds, trains and samples in time, and `./twill test` passes.
#
#   tools/bare_root.sh [--root DIR] [--mirror URL] [--worktree] [--keep] [--make-root]
#
#   --root DIR    where the bare root lies; made when it is not there, kept, and used again:
#                 every run works in a copy of it (default: a temporary folder)
#   --mirror URL  a Debian mirror (default: the first one of this machine's apt)
#   --worktree    take the files as they lie here instead of the commit HEAD
#   --keep        keep the copy in which Twill ran, and say where it is
#   --make-root   make the root and stop
#
# Needs root and debootstrap. Proxy settings of this machine's apt and the variables http_proxy,
# https_proxy and no_proxy are handed on. With more than two cores, two are used.

set -euo pipefail

readonly max_total=480 max_first_step=240 max_build=150 max_loss_ratio=0.75

self=$(readlink -f -- "$0")
repository=$(dirname -- "$self")/..
root=
mirror=
files=HEAD
keep=no
only_root=no

stop() {
  echo "bare_root: $*" >&2
  exit 2
}

original=("$@")
while [ $# -gt 0 ]; do
  case $1 in
    --root) root=${2:?--root needs a folder} && shift ;;
    --mirror) mirror=${2:?--mirror needs an address} && shift ;;
    --worktree) files=worktree ;;
    --keep) keep=yes ;;
    --make-root) only_root=yes ;;
    *) stop "unknown option '$1': see the head of this script" ;;
  esac
  shift
done

[ "$(id -u)" = 0 ] || stop 'must run as root (chroot, mount)'

# Mounts live in a name space of their own and end with it, whatever happens to this script.
if [ -z "${TWILL_BARE_ROOT_INNER-}" ]; then
  export TWILL_BARE_ROOT_INNER=1
  exec unshare --mount --propagation private -- "$self" ${original[@]+"${original[@]}"}
fi

scratch=$(mktemp -d)
copy=
cleanup() {
  [ -z "$copy" ] || umount "$copy/dev/shm" "$copy/dev/pts" "$copy/proc" 2>/dev/null || true
  [ "$keep" = yes ] || [ -z "$copy" ] || rm -rf --one-file-system -- "$copy"
  rm -rf --one-file-system -- "$scratch"
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# --- the bare root -------------------------------------------------------------------------------

default_mirror() {
  # shellcheck disable=SC2016  # the dollars are apt's
  apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 2>/dev/null |
    awk '$2 == "bookworm" { print $1; exit }'
}

make_root() {
  command -v debootstrap >/dev/null || stop 'debootstrap is missing: apt-get install debootstrap'
  [ -n "$mirror" ] || mirror=$(default_mirror)
  [ -n "$mirror" ] || mirror=http://deb.debian.org/debian
  echo "making a bare root in $root from $mirror"
  local begin=$SECONDS
  debootstrap --variant=minbase bookworm "$root.part" "$mirror" >"$scratch/debootstrap" 2>&1 || {
    tail -n 20 "$scratch/debootstrap" >&2
    rm -rf --one-file-system -- "$root.part"
    stop 'debootstrap failed (see above)'
  }
  rm -rf --one-file-system -- "$root.part/var/cache/apt/archives"/*.deb
  mv -T -- "$root.part" "$root"
  echo "made in $((SECONDS - begin)) s"
}

# How this machine reaches its mirror, without its lists of packages.
hand_on_network() {
  local file
  for file in /etc/resolv.conf /etc/hosts; do
    [ ! -e "$file" ] || cp -L -- "$file" "$copy$file"
  done
  mkdir -p "$copy/etc/apt/apt.conf.d"
  if command -v apt-config >/dev/null; then
    apt-config dump |
      grep -E '^Acquire::(https?::([^ ]*::)?Proxy|Retries|Check-Valid-Until|ForceIPv4)[^ ]* ".+";$' \
        >"$copy/etc/apt/apt.conf.d/99network" || true
  fi
}

if [ -z "$root" ]; then root=$scratch/root; fi
root=$(readlink -m -- "$root")
if [ -d "$root/etc" ]; then echo "using the bare root in $root"; else make_root; fi
[ "$only_root" = no ] || exit 0

copy=$root.run-$$
cp -a --reflink=auto -- "$root" "$copy"
hand_on_network
mount -t proc proc "$copy/proc"
mount -t tmpfs -o mode=1777 tmpfs "$copy/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=0620 devpts "$copy/dev/pts" 2>/dev/null || true

# --- Twill in it ---------------------------------------------------------------------------------

tree=$copy/root/twill
mkdir -p "$tree"
if [ "$files" = HEAD ]; then
  git -C "$repository" -c safe.directory='*' archive HEAD | tar -x -C "$tree"
else
  (cd "$repository" && git -c safe.directory='*' ls-files -z -co --exclude-standard |
    tar -c --null --files-from=- --ignore-failed-read 2>/dev/null) | tar -x -C "$tree"
fi

rm -rf -- "$tree/build" "$tree/runs" # a stranger has neither

two_cores=()
if [ "$(nproc)" -gt 2 ]; then two_cores=(taskset -c "0,1"); fi

in_root() {
  "${two_cores[@]}" chroot "$copy" /usr/bin/env -i \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    ${http_proxy+http_proxy="$http_proxy"} ${https_proxy+https_proxy="$https_proxy"} \
    ${no_proxy+no_proxy="$no_proxy"} \
    sh -c "cd /root/twill && exec $1" </dev/null
}

# Writes the seconds since $1 at which the metrics of the run show the first training step.
watch_first_step() {
  until grep -qs '"loss"' "$tree"/runs/*/metrics.jsonl; do sleep 0.5; done
  echo $(($(date +%s) - $1)) >"$scratch/first_step"
}

val_losses() {
  { cat "$tree"/runs/*/metrics.jsonl 2>/dev/null || true; } |
    sed -n 's/.*"val_loss": *\([-+0-9.eE]*\).*/\1/p'
}

echo '--- ./twill train'
begin=$(date +%s)
watch_first_step "$begin" &
watcher=$!
train_status=0
in_root './twill train' 2>&1 | tee "$scratch/train" || train_status=${PIPESTATUS[0]}
total=$(($(date +%s) - begin))
sleep 1
kill "$watcher" 2>/dev/null || true
wait "$watcher" 2>/dev/null || true

echo '--- ./twill test'
begin=$(date +%s)
test_status=0
in_root './twill test' 2>&1 | tee "$scratch/test" || test_status=${PIPESTATUS[0]}
test_seconds=$(($(date +%s) - begin))

# --- judgement -----------------------------------------------------------------------------------

failures=0
row() { # NAME BAR MEASURED CONDITION…
  local verdict=pass
  "${@:4}" || { verdict=FAIL && failures=$((failures + 1)); }
  printf '%-30s %12s %12s  %s\n' "$1" "$2" "$3" "$verdict"
}
at_most() { awk -v got="$1" -v bar="$2" 'BEGIN { exit !(got != "none" && got + 0 <= bar + 0) }'; }
has_sample() { awk 'tolower($0) ~ /sample/ { seen = 1; next } seen && NF { text = 1 } END { exit !text }' "$scratch/train"; }

first_step=$(cat "$scratch/first_step" 2>/dev/null || echo none)
build_seconds=$(cat "$tree/build/release/.build_seconds" 2>/dev/null || echo none)
loss_ratio=$(val_losses |
  awk 'NR == 1 { first = $1 } { last = $1 } END { if (NR > 1) print last / first; else print "none" }')
sample=no
if has_sample; then sample=yes; fi

printf '\n%-30s %12s %12s\n' '' bar measured
row 'exit code of ./twill train' 0 "$train_status" [ "$train_status" = 0 ]
row 'seconds in all' "<= $max_total" "$total" at_most "$total" "$max_total"
row 'seconds to the first step' "<= $max_first_step" "$first_step" \
  at_most "$first_step" "$max_first_step"
row 'seconds of building twill' "<= $max_build" "$build_seconds" \
  at_most "$build_seconds" "$max_build"
row 'last val_loss / first' "<= $max_loss_ratio" "$loss_ratio" \
  at_most "$loss_ratio" "$max_loss_ratio"
row 'a sample is printed' yes "$sample" [ "$sample" = yes ]
row "exit code of ./twill test" 0 "$test_status" [ "$test_status" = 0 ]
printf '%-30s %12s %12s\n' 'seconds of ./twill test' '' "$test_seconds"
[ "$keep" = no ] || echo "kept: $copy"
[ "$failures" = 0 ]
