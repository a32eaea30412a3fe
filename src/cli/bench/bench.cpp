// SPDX-License-Identifier: Apache-2.0
#include "base/require.h"
#include "cli/bench/bench_step.h"
#include "cli/commands.h"

namespace twill::cli {

int run_bench(const BenchCommand& command) {
  if (command.what == "tokenizer") return bench_tokenizer(command);
  if (command.what == "gemm") return bench_gemm(command);
  if (command.what == "ffn") return bench_ffn(command);
  if (command.what == "block") return bench_block(command);
  require(
      command.what == "step",
      "unknown benchmark '{}'; expected step, block, ffn, gemm, tokenizer, or op, which `./twill "
      "bench op` builds and runs",
      command.what);
  return bench_step(command);
}

}  // namespace twill::cli
