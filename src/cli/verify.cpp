// SPDX-License-Identifier: Apache-2.0
#include "base/require.h"
#include "cli/commands.h"

namespace twill::cli {

int run_verify(const VerifyCommand&) { fail("not built yet"); }

}  // namespace twill::cli
