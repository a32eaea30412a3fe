// SPDX-License-Identifier: Apache-2.0
#include "base/require.h"
#include "cli/commands.h"

namespace twill::cli {

int run_export(const ExportCommand&) { fail("not built yet"); }
int run_import(const ImportCommand&) { fail("not built yet"); }

}  // namespace twill::cli
