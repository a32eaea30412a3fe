// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <string>

#include <fmt/format.h>

namespace twill {

void check_failed(const char* condition, const char* file, int line, const char* context) {
  throw InternalError(fmt::format("{}:{}: check failed: {} ({})", file, line, condition, context));
}

}  // namespace twill
