#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes docs/config.md from the program's own help, so that the list of keys exists once. A test
# compares the two.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
{
  printf '# Configuration\n\nMade by `tools/write_config_docs.sh` from `twill config --help`.\n\n```\n'
  "$root/twill" config --help
  printf '```\n'
} > "$root/docs/config.md"
