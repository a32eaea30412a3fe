// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/screen/words.h"
#include "data/corpus.h"
#include "data/tokenizer.h"
#include "io/config/toml_config.h"
#include "train/run/run_config.h"

namespace twill::cli {

int run_config(const ConfigCommand& command) {
  const Words words = split_words(command.words);
  RunConfig config = read_run_config(words.config_file, words.overrides, NoRecipe::kPreset);
  config.data.tokenizer = data_tokenizer(config.data);
  config = resolved(config, vocab_size_of(open_tokenizer_if_any(config.data.tokenizer).get()));
  fmt::print("{}", write_toml(config));
  return kDone;
}

std::string config_help() {
  return "Keys of a config file, and of key=value pairs on the command line.\n\n" +
         describe_fields(RunConfig());
}

}  // namespace twill::cli
