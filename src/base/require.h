// SPDX-License-Identifier: Apache-2.0
// require(condition, "[where] what, expected {}, got {}", …): throws twill::Error, which the
// command line shows as one line. Host .cpp files only: fmt 9 does not compile under nvcc 13 as
// C++20.
#pragma once

#include <utility>

#include <fmt/format.h>

#include "twill/error.h"

namespace twill {

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
  if (!condition) [[unlikely]]
    fail(format, std::forward<Args>(args)...);
}

}  // namespace twill
