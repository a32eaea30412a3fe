// SPDX-License-Identifier: Apache-2.0
// tiny_settings() for a session in memory: without what it refuses.
#pragma once

#include <string>
#include <vector>

#include "train/tiny_run.h"

namespace twill {

inline std::vector<std::string> in_memory(const std::vector<std::string>& more = {}) {
  std::vector<std::string> settings = tiny_settings();
  std::erase_if(settings, [](const std::string& setting) {
    return setting.starts_with("log.") || setting.starts_with("checkpoint.");
  });
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

}  // namespace twill
