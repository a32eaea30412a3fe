// SPDX-License-Identifier: Apache-2.0
// A config file; what was accepted is written and read again.
#include "io/config/toml_config.h"

#include "target.h"
#include "train/run/run_config.h"

TWILL_FUZZ(bytes) {
  twill::RunConfig config;
  twill::read(twill::TomlDocument::parse_text(std::string(bytes), "fuzz.toml"), config);
  const std::string text = twill::write_toml(config);
  twill::RunConfig again;
  twill::read(twill::TomlDocument::parse_text(text, "again.toml"), again);
  if (twill::write_toml(again) != text) __builtin_trap();
}
