// SPDX-License-Identifier: Apache-2.0
#include "cli/screen/words.h"

#include "base/require.h"

namespace twill::cli {

Words split_words(const std::vector<std::string>& words) {
  Words result;
  for (const std::string& word : words) {
    require(!word.starts_with("-"), "unknown option {}; `twill --help` lists the options", word);
    if (word.find('=') != std::string::npos) {
      result.overrides.push_back(word);
      continue;
    }
    require(result.config_file.empty(),
            "two config files were given, {} and {}; expected one, and key=value pairs",
            result.config_file, word);
    result.config_file = word;
  }
  return result;
}

}  // namespace twill::cli
