// SPDX-License-Identifier: Apache-2.0
// manifest.json of prepared data; what was accepted is written and read again.
#include "data/shards/manifest.h"

#include "target.h"

TWILL_FUZZ(bytes) {
  const std::string text = twill::write_manifest(twill::parse_manifest(bytes, "fuzz"));
  if (twill::write_manifest(twill::parse_manifest(text, "again")) != text) __builtin_trap();
}
