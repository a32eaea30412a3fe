// SPDX-License-Identifier: Apache-2.0
#include "train/run/resumed_config.h"

#include "base/log.h"
#include "base/require.h"
#include "io/config/toml_config.h"
#include "train/run/checkpoint.h"

namespace twill {
namespace {

// Fields that decide what is learnt may not change.
void require_same_run(RunConfig saved, RunConfig wanted, const std::string& run) {
  if (saved.train.steps != wanted.train.steps)
    log_warning(
        fmt::format("train.steps changes from {} to {}: the learning rate follows the new "
                    "length from here on, unlike a run that was started so",
                    saved.train.steps, wanted.train.steps));
  for (const FieldDifference& difference : differences(saved, wanted))
    require(difference.on_resume == OnResume::kFree,
            "cannot resume {} with {} = {}: it was started with {}; leave the key out, or start a "
            "new run",
            run, difference.key, difference.wanted, difference.saved);
}

// The saved config names a tokenizer; another name is fine when it means the same one.
void require_same_tokenizer(const RunConfig& saved, RunConfig& wanted, const Tokenizer* tokenizer,
                            const std::string& run) {
  if (wanted.data.tokenizer == "auto") wanted.data.tokenizer = saved.data.tokenizer;
  if (wanted.data.tokenizer == saved.data.tokenizer) return;
  const std::unique_ptr<Tokenizer> other = open_tokenizer_if_any(wanted.data.tokenizer);
  require(other != nullptr && tokenizer != nullptr && other->hash() == tokenizer->hash(),
          "cannot resume {} with data.tokenizer = \"{}\": it was started with another tokenizer; "
          "leave the key out, or start a new run",
          run, wanted.data.tokenizer);
}

}  // namespace

RunConfig resumed_config(const TrainRequest& request, const RunFolder& folder,
                         const Tokenizer* tokenizer) {
  const std::int64_t tokenizer_vocab = vocab_size_of(tokenizer);
  const RunConfig saved = resolved(folder.read_config(), tokenizer_vocab);
  RunConfig wanted = request.config_file.empty()
                         ? folder.read_config(request.overrides)
                         : read_run_config(request.config_file, request.overrides);
  if (wanted.data.hash.empty()) wanted.data.hash = saved.data.hash;
  require_same_tokenizer(saved, wanted, tokenizer, folder.path());
  if (wanted.device == "auto") wanted.device = saved.device;
  if (wanted.train.precision == "auto") wanted.train.precision = saved.train.precision;
  wanted = resolved(wanted, tokenizer_vocab);
  require_same_run(saved, wanted, folder.path());
  wanted.run.name = saved.run.name;
  wanted.run.dir = saved.run.dir;
  return wanted;
}

void require_own_state(const RunFolder& folder) {
  const std::string checkpoint = folder.checkpoint();
  const std::string origin = checkpoint.empty() ? std::string() : imported_from(checkpoint);
  require(
      origin.empty(),
      "run {} was imported from {} and has no optimizer state to resume; train its weights in a "
      "new run with train.start_from={}",
      folder.path(), origin, shell_quoted(folder.path()));
}

}  // namespace twill
