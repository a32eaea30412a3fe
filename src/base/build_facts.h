// SPDX-License-Identifier: Apache-2.0
// Which build of Twill this is. Written by the build (cmake/BuildFacts.cmake).
#pragma once

#include <string_view>

namespace twill {

struct BuildFacts {
  std::string_view commit;    // "40938eb1c2d3", "40938eb1c2d3 with changes"; "unknown" outside git
  std::string_view compiler;  // "GNU 12.2.0"
  std::string_view kind;      // "Release"
};

const BuildFacts& build_facts();

}  // namespace twill
