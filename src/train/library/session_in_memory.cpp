// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/require.h"
#include "data/token_ids.h"
#include "io/atomic_file.h"
#include "io/config/toml_config.h"
#include "io/paths.h"
#include "train/library/own_examples.h"
#include "train/library/session_settings.h"
#include "train/library/session_work.h"
#include "train/model/any_model.h"
#include "train/run/checkpoint.h"
#include "train/run/device_choice.h"
#include "train/run/make_plan.h"
#include "train/run/run_data.h"
#include "train/run/run_folder.h"
#include "train/run/stall_alarm.h"

namespace twill {
namespace {

class MemoryWork final : public SessionWork {
 public:
  explicit MemoryWork(const SessionOptions& options) {
    RunConfig config = read_run_config(
        options.config_file, overrides_of(options, /*is_resumed=*/false), NoRecipe::kPreset);
    require_in_memory(options, config);
    std::optional<AnyModel> start;
    if (!config.train.start_from.empty()) {
      start.emplace(find_model(config.train.start_from, config.run.dir));
      config = started_from(*start, config);
    }
    RunSetup setup = set_up(std::move(config));
    tokenizer_ = std::move(setup.tokenizer);
    config = std::move(setup.config);
    config.run.id = run_id({});
    context_.emplace(open_context(config));
    keep_choice(config, *context_);
    TrainingData data = options.data ? own_examples(*options.data, config)
                                     : open_run_data(config, tokenizer_.get());
    config.data.hash = data.hash;
    Plan plan = make_plan(*context_, config);
    trainer_.emplace(*context_, config, std::move(data), std::move(plan));
    trainer_->begin();
    if (start) load_start(*start, *trainer_);
  }

  Trainer& trainer() override { return *trainer_; }
  const Tokenizer* tokenizer() const override { return tokenizer_.get(); }

  StepReport step() override {
    const RunConfig& config = trainer_->config();
    const Progress before = trainer_->progress();
    was_looked_at_ = true;
    const StepResult result = trainer_->step();
    if (!result.finite && config.train.on_nonfinite == "stop") {
      trainer_->take_back(before);
      fail(
          "step {}: the {} is not finite; the session stands before it; lower optimizer.lr in a "
          "new "
          "one, or set train.on_nonfinite=skip",
          result.step, std::isfinite(result.loss) ? "gradient" : "loss");
    }
    watch(result);
    StepReport report = report_of(result, config);
    if (const auto sample = trainer_->sparsity().take_sample()) report.health = report_of(*sample);
    const bool is_due = result.step == config.train.steps ||
                        (config.eval.every > 0 && result.step % config.eval.every == 0);
    if (is_due && trainer_->has_validation()) report.validation_loss = trainer_->evaluate();
    return report;
  }

  void look() override {
    if (was_looked_at_) return;
    was_looked_at_ = true;
    trainer_->sparsity().before_step(*context_, 0);
  }
  bool is_untouched() const override { return !was_looked_at_; }

  std::string save() override {
    fail("the session is in memory: say in which folder to save it, or use Session::start()");
  }

  std::string save_to(const std::string& folder) override {
    const std::string path = without_trailing_slash(folder);
    if (!saved_ || saved_->path() != path_in(path)) saved_.emplace(new_folder(path));
    const KernelTable& kernels = context_->kernels();
    if (kernels.choices != nullptr)
      write_file(saved_->choices_file(), kernels.choices(context_->queue()));
    return save_checkpoint(saved_->checkpoints(), *trainer_,
                           std::numeric_limits<std::int64_t>::max());
  }

  std::string folder() const override { return {}; }

 private:
  void watch(const StepResult& result) {
    const std::int64_t phase =
        trainer_->config().recipe.is_dense() ? 0 : trainer_->sparsity().phase_index();
    if (!stall_watch_) stall_watch_.emplace(stall_watch_of(trainer_->config(), "", -1));
    const auto stall = stall_watch_->observe(result.step, phase, result.loss, result.lr);
    if (!stall) return;
    if (trainer_->config().health.on_stall == "stop")
      fail("step {}: {}; stopped behind it (health.on_stall = \"stop\")", stall->step,
           stall->text());
    log_warning(fmt::format("step {}: {}", stall->step, stall->text()));
  }

  static RunSection place_of(const std::string& folder) {
    const std::filesystem::path path(folder);
    const std::string above = path.parent_path().string();
    RunSection place;
    place.name = path.filename().string();
    place.dir = above.empty() ? "." : above;
    return place;
  }
  // As RunFolder calls it.
  static std::string path_in(const std::string& folder) {
    const RunSection place = place_of(folder);
    return place.dir + "/" + place.name;
  }

  // A run without a checkpoint.
  RunFolder new_folder(const std::string& folder) {
    RunConfig config = trainer_->config();
    const std::string id = config.run.id;
    config.run = place_of(folder);
    config.run.id = id;
    require(!config.run.name.empty(), "\"{}\" is no folder to save a session in", folder);
    RunFolder made = RunFolder::create(config);
    save_run_tokenizer(made, tokenizer_.get());
    if (!config.recipe.is_dense()) made.write("plan.toml", plan_text(trainer_->sparsity().plan()));
    config.plan.clear();
    made.write("config.toml", write_toml(config));
    return made;
  }

  std::unique_ptr<Tokenizer> tokenizer_;
  std::optional<Context> context_;
  std::optional<Trainer> trainer_;
  std::optional<StallWatch> stall_watch_;
  bool was_looked_at_ = false;
  std::optional<RunFolder> saved_;
};

}  // namespace

std::unique_ptr<SessionWork> open_in_memory(const SessionOptions& options) {
  return std::make_unique<MemoryWork>(options);
}

}  // namespace twill
