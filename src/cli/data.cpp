// SPDX-License-Identifier: Apache-2.0
#include "base/require.h"
#include "cli/commands.h"

namespace twill::cli {

int run_data_prepare(const DataPrepareCommand&) { fail("not built yet"); }
int run_data_inspect(const DataInspectCommand&) { fail("not built yet"); }

}  // namespace twill::cli
