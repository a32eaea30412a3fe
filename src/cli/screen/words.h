// SPDX-License-Identifier: Apache-2.0
// [CONFIG.toml] [key=value …]: the words behind a command.
#pragma once

#include <string>
#include <vector>

namespace twill::cli {

struct Words {
  std::string config_file;
  std::vector<std::string> overrides;
};

// At most one word without '='. Throws twill::Error.
Words split_words(const std::vector<std::string>& words);

}  // namespace twill::cli
