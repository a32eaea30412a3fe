// SPDX-License-Identifier: Apache-2.0
#include "base/require.h"
#include "cli/commands.h"

namespace twill::cli {

int run_tokenizer_train(const TokenizerTrainCommand&) { fail("not built yet"); }
int run_tokenizer_encode(const TokenizerCodeCommand&) { fail("not built yet"); }
int run_tokenizer_decode(const TokenizerCodeCommand&) { fail("not built yet"); }

}  // namespace twill::cli
