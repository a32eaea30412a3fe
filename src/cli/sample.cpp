// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <fmt/format.h>

#include "cli/commands.h"
#include "train/model/sampler.h"
#include "train/model/trained_model.h"

namespace twill::cli {

int run_sample(const SampleCommand& command) {
  const auto trained =
      open_trained_model(command.run, command.runs_dir, /*max_batch=*/1, command.overrides);
  const Tokenizer& tokenizer = trained->tokenizer();
  fmt::print("{}", command.prompt);
  sample(trained->context(), trained->language_model(), tokenizer, command.prompt,
         {.tokens = command.tokens,
          .temperature = command.temperature,
          .top_k = command.top_k,
          .top_p = command.top_p,
          .seed = static_cast<std::uint64_t>(command.seed)},
         [](std::string_view text) {
           fmt::print("{}", text);
           return std::fflush(stdout) == 0;  // nobody listens any more
         });
  fmt::print("\n");
  return kDone;
}

}  // namespace twill::cli
