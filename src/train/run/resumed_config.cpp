// SPDX-License-Identifier: Apache-2.0
#include "train/run/resumed_config.h"

#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/require.h"
#include "io/config/config_lines.h"
#include "io/config/toml_config.h"
#include "train/run/checkpoint.h"
#include "train/run/run_mark.h"

namespace twill {
namespace {

void require_unchanged(const std::vector<FieldDifference>& all, const std::string& run) {
  for (const FieldDifference& difference : all)
    require(difference.on_resume == OnResume::kFree,
            "cannot resume {} with {} = {}: it was started with {}; leave the key out, or start a "
            "new run",
            run, difference.key, difference.wanted, difference.saved);
}

// Fields that decide what is learnt may not change. `saved_steps` is train.steps as the checkpoint
// knows it.
void require_same_run(RunConfig saved, RunConfig wanted, const std::string& saved_steps,
                      const std::string& run) {
  if (saved_steps != std::to_string(wanted.train.steps))
    log_warning(
        fmt::format("train.steps changes from {} to {}: the learning rate follows the new "
                    "length from here on, unlike a run that was started so",
                    saved_steps, wanted.train.steps));
  require_unchanged(differences(saved, wanted), run);
}

// What the checkpoint knows of itself is what its name and the run's config say of it: neither was
// changed, and it was not put here from elsewhere. Returns its mark.
std::optional<RunMark> require_own(const std::string& checkpoint, RunConfig config,
                                   const std::string& run) {
  const std::int64_t step = saved_step(checkpoint);
  require(step == step_of(checkpoint),
          "{} holds the state of step {}: the folder was renamed; give it the name it had, or "
          "remove it",
          checkpoint, step);
  std::optional<RunMark> mark = read_mark(checkpoint);
  require(!mark || mark->step == step, "{}: its files are of steps {} and {}; remove it",
          checkpoint, step, mark ? mark->step : 0);
  const std::string id = mark ? mark->run : std::string();
  require(id == config.run.id,
          "{} belongs to another run: it was saved by {}, and {} is {}; take it away, and put back "
          "what belongs there",
          checkpoint, id.empty() ? "a run without an id" : "run " + id, run,
          config.run.id.empty() ? "a run without an id" : config.run.id);
  if (mark)
    require_unchanged(
        differences_from(mark->config, [&](FieldVisitor& visit) { config.fields(visit); }), run);
  ModelConfig model = load_model_config(checkpoint);
  std::vector<FieldDifference> changes = differences(model, config.model);
  for (FieldDifference& change : changes) change.key = "model." + change.key;
  require_unchanged(changes, run);
  return mark;
}

std::optional<RunMark> own_mark(const RunFolder& folder, const RunConfig& config) {
  const std::string checkpoint = folder.checkpoint();
  if (checkpoint.empty()) return std::nullopt;
  try {
    return require_own(checkpoint, config, folder.path());
  } catch (const Error&) {
    // Of a damaged file nothing is true that it says.
    require_undamaged(checkpoint, CheckpointFiles::kModelAndState);
    throw;
  }
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
  RunConfig wanted =
      request.config_file.empty()
          ? folder.read_config(request.overrides)
          : read_run_config_over(folder.read_config(), request.config_file, request.overrides);
  // A config file is of no run, or of another one.
  if (!request.config_file.empty()) wanted.run.id = saved.run.id;
  if (wanted.data.hash.empty()) wanted.data.hash = saved.data.hash;
  require_same_tokenizer(saved, wanted, tokenizer, folder.path());
  if (wanted.device == "auto") wanted.device = saved.device;
  if (wanted.train.precision == "auto") wanted.train.precision = saved.train.precision;
  wanted = resolved(wanted, tokenizer_vocab);
  const std::optional<RunMark> mark = own_mark(folder, saved);
  const std::optional<std::string> steps =
      mark ? value_in(mark->config, "train.steps") : std::nullopt;
  require_same_run(saved, wanted, steps.value_or(std::to_string(saved.train.steps)), folder.path());
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
