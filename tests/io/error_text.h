// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "twill/error.h"

namespace twill {

// The whole text of the twill::Error that the call throws, for messages that are compared exactly.
template <class Call>
std::string error_text(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

}  // namespace twill
