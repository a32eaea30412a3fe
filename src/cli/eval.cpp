// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <fmt/format.h>

#include "cli/commands.h"
#include "train/checkpoint.h"
#include "train/run_folder.h"
#include "train/trained_model.h"

namespace twill::cli {

int run_eval(const EvalCommand& command) {
  const std::string runs_dir = read_run_config("", command.overrides).run.dir;
  const RunFolder folder = RunFolder::open(command.run, runs_dir);
  RunConfig config = folder.read_config(command.overrides);
  // Another text may be measured than the one learnt from.
  config.data.hash.clear();
  TrainedModel model(folder, config, config.train.micro_batch);
  const Evaluation result = evaluate(model, config);
  fmt::print("checkpoint     {}\nstep           {}\ntokens         {}\nval_loss       {:.6f}\n",
             model.checkpoint(), step_of(model.checkpoint()), result.tokens, result.loss);
  fmt::print("perplexity     {:.4f}\nbits per byte  {:.4f}\n", std::exp(result.loss),
             result.bits_per_byte);
  return kDone;
}

}  // namespace twill::cli
