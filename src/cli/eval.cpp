// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <fmt/format.h>

#include "base/require.h"
#include "cli/commands.h"
#include "data/tokenizer.h"
#include "io/toml_config.h"
#include "train/checkpoint.h"
#include "train/run_folder.h"
#include "train/trained_model.h"

namespace twill::cli {

namespace {

// The run's config with the caller's pairs; the weights are what they are, so the model may not change.
RunConfig eval_config(const RunFolder& folder, const std::vector<std::string>& overrides) {
  const std::int64_t vocab =
      open_run_tokenizer(folder, folder.read_config(overrides))->vocab_size();
  RunConfig saved = resolved(folder.read_config(), vocab);
  RunConfig wanted = resolved(folder.read_config(overrides), vocab);
  for (const FieldDifference& difference : differences(saved.model, wanted.model))
    fail("model.{} = {} cannot be changed: the run was trained with {}", difference.key,
         difference.wanted, difference.saved);
  return wanted;
}

}  // namespace

int run_eval(const EvalCommand& command) {
  const RunFolder folder = RunFolder::open(command.run, runs_dir("", command.overrides));
  const RunConfig config = eval_config(folder, command.overrides);
  TrainedModel model(folder, config, config.train.micro_batch);
  const Evaluation result = evaluate(model, config);
  fmt::print("checkpoint     {}\nstep           {}\ntokens         {}\nval_loss       {:.6f}\n",
             model.checkpoint(), step_of(model.checkpoint()), result.tokens, result.loss);
  fmt::print("perplexity     {:.4f}\nbits per byte  {:.4f}\n", std::exp(result.loss),
             result.bits_per_byte);
  return kDone;
}

}  // namespace twill::cli
