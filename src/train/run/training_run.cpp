// SPDX-License-Identifier: Apache-2.0
#include "train/run/training_run.h"

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/require.h"
#include "io/atomic_file.h"
#include "io/config/toml_config.h"
#include "ops/transfer.h"
#include "train/metrics/json_lines_sink.h"
#include "train/metrics/metric_sinks.h"
#include "train/model/any_model.h"
#include "train/model/finite_weights.h"
#include "train/model/sampler.h"
#include "train/run/checkpoint.h"
#include "train/run/device_choice.h"
#include "train/run/facts_file.h"
#include "train/run/make_plan.h"
#include "train/run/resumed_config.h"
#include "train/run/run_data.h"
#include "train/run/run_folder.h"
#include "train/run/run_metrics.h"
#include "train/run/source_facts.h"
#include "train/run/sparsity_records.h"
#include "train/run/stall_alarm.h"
#include "train/run/step_record.h"
#include "train/step/memory_table.h"
#include "train/step/memory_use.h"
#include "train/step/roof.h"
#include "train/step/step_profile.h"

namespace twill {
namespace {

bool due(std::int64_t step, std::int64_t every, std::int64_t last) {
  return step == last || (every > 0 && step % every == 0);
}

// One run in one process: the objects in the order they depend on each other.
class Run final : public OpenRun {
 public:
  Run(const TrainRequest& request, TrainingListener& listener, const std::atomic<bool>& stop)
      : request_(request), listener_(listener), stop_(stop) {
    if (!request.resume.empty())
      folder_.emplace(
          RunFolder::open(request.resume, runs_dir(request.config_file, request.overrides)));
    if (folder_) require_own_state(*folder_);
    RunConfig config =
        folder_ ? folder_->read_config()
                : read_run_config(request.config_file, request.overrides, NoRecipe::kPreset);
    if (!config.train.start_from.empty() && (!folder_ || folder_->checkpoint().empty())) {
      start_.emplace(find_model(config.train.start_from, config.run.dir));
      config = started_from(*start_, config);
    }
    RunSetup setup = folder_ ? set_up(*folder_, std::move(config)) : set_up(std::move(config));
    tokenizer_ = std::move(setup.tokenizer);
    config = folder_ ? resumed_config(request, *folder_, tokenizer_.get()) : setup.config;
    if (!folder_) config.run.id = run_id(request.overrides);
    context_.emplace(open_context(config));
    keep_choice(config, *context_);
    data_ = request.own_data ? request.own_data(config) : open_run_data(config, tokenizer_.get());
    config.data.hash = data_.hash;
    trainer_.emplace(*context_, config, data_, plan_of(config));
  }

  Outcome execute() {
    prepare();
    while (trainer_->progress().step < config().train.steps) {
      if (!stop_ && request_.hands_over && request_.hands_over(standing())) return handed_over();
      if (!one_step()) return interrupted();
    }
    // Ids without a tokenizer are no text that a person could read.
    if (config().log.sample_tokens > 0 && tokenizer_ != nullptr) show_sample();
    if (!config().recipe.is_dense()) listener_.on_flops(trainer_->sparsity().flops());
    listener_.on_end(/*interrupted=*/false);
    return Outcome::kDone;
  }

  Trainer& trainer() override { return *trainer_; }
  const Tokenizer* tokenizer() const override { return tokenizer_.get(); }
  const RunFolder& folder() const override { return *folder_; }

 private:
  const RunConfig& config() const { return trainer_->config(); }

  // A resumed run goes on as it was planned.
  Plan plan_of(RunConfig config) {
    if (folder_ && !config.recipe.is_dense() && config.recipe.execution != Execution::kMasked) {
      config.plan = folder_->plan_file();
      require(
          std::filesystem::exists(config.plan),
          "{} is missing: it says which layers of the run are sparse, and a resumed run keeps to "
          "it; put it back, or start a new run",
          config.plan);
    }
    if (folder_ && config.recipe.execution == Execution::kMasked) config.plan.clear();
    const auto progress = [this](std::int64_t done, std::int64_t all) {
      listener_.on_planning(done, all);
    };
    return make_plan(*context_, config,
                     {.progress = progress, .elsewhere = request_.plan_elsewhere});
  }

  void prepare() override {
    if (config().schedule.warmup_steps >= config().train.steps)
      log_warning(
          fmt::format("schedule.warmup_steps = {} is not below train.steps = {}: the learning "
                      "rate never reaches its peak",
                      config().schedule.warmup_steps, config().train.steps));
    require_memory(*context_, trainer_->memory_table());  // before anything is written
    const bool is_new = !folder_;
    if (is_new) folder_.emplace(RunFolder::create(config()));
    folder_->lock();
    const std::string checkpoint = is_new ? std::string() : folder_->checkpoint();
    // A new run's config is saved at once, so that one killed before its first checkpoint can be
    // started again; a resumed run's only when its checkpoint has proved good.
    if (is_new) save_run_tokenizer(*folder_, tokenizer_.get());
    const Plan& plan = trainer_->sparsity().plan();
    const bool is_sparse = !config().recipe.is_dense();
    if (is_new && is_sparse) folder_->write("plan.toml", plan_text(plan));
    if (is_new) save_config();
    const RunFacts run_facts = facts(checkpoint);
    const RunConfig saved = saved_config();
    const KnownFacts known{.context = *context_,
                           .config = saved,
                           .run = run_facts,
                           .plan = is_sparse ? &plan : nullptr,
                           .arguments = request_.arguments};
    if (is_new) write_facts(*folder_, known);
    listener_.on_begin(config(), run_facts);
    if (is_sparse) listener_.on_plan(plan);
    if (!is_new) load_choices();
    // Before the trainer takes its memory. On a CPU it would cost as much as many a whole run.
    const double product_roof = shares_memory(*context_) ? 0.0 : measure_product_roof(*context_);
    trainer_->begin();
    if (checkpoint.empty() && start_) load_start(*start_, *trainer_);
    start_.reset();
    if (!checkpoint.empty()) {
      load_checkpoint(checkpoint, *trainer_);
      set_aside_later(folder_->held_checkpoints(), step_of(checkpoint));
    }
    if (!is_new) {
      save_config();
      add_resume(*folder_, known, trainer_->progress().step);
    }
    saved_path_ = checkpoint;
    saved_step_ = checkpoint.empty() ? -1 : trainer_->progress().step;
    meter_.emplace(*context_, trainer_->sparsity().flops().dense, product_roof);
    begin_metrics();
    if (!checkpoint.empty()) return;
    // A recipe that begins sparse is sparse from the first figure on.
    trainer_->sparsity().before_step(*context_, 0);
    evaluate();
  }

  // The run's own file is part of what it promises: a checkpoint never knows steps that it has lost.
  void begin_metrics() {
    metrics_.add(std::make_shared<JsonLinesSink>(folder_->held(), "metrics.jsonl"),
                 OnSinkFailure::kStop);
    for (const auto& sink : request_.sinks) metrics_.add(sink, OnSinkFailure::kGoOn);
    metrics_.begin(saved_step_);
    stall_watch_.emplace(stall_watch_of(config(), folder_->metrics_file(), saved_step_));
    folder_->hold_metrics();
  }

  RunFacts facts(const std::string& checkpoint) const {
    // On a GPU the table is of its memory alone.
    std::vector<MemoryLine> memory = trainer_->memory_table(), dense;
    if (!config().recipe.is_dense()) dense = dense_memory_table(*context_, config());
    const MemoryLine program{"program and corpus", resident_bytes()};
    for (std::vector<MemoryLine>* table : {&memory, &dense})
      if (shares_memory(*context_) && !table->empty()) table->push_back(program);
    const MetricsSummary metrics = summarise_metrics(folder_->metrics_file());
    return {.folder = folder_->path(),
            .resumed_from = checkpoint,
            .backend = context_->kernels().name,
            .num_threads = context_->device().num_threads,
            .num_parameters = num_parameters(config().model),
            .train_tokens = data_.train_tokens,
            .validation_tokens = data_.validation_tokens,
            .sources = source_facts(data_, config()),
            .validated_by = data_.validated_by,
            .data_notes = data_.notes,
            .first_validation_loss = metrics.first_validation_loss,
            .memory = std::move(memory),
            .dense_memory = std::move(dense),
            .runs = config().recipe.is_dense()
                        ? std::string()
                        : runs_text(config().recipe, trainer_->sparsity().runs())};
  }

  // Every value as it is, the folder's name included.
  RunConfig saved_config() const {
    RunConfig copy = config();
    copy.run.name = folder_->name();
    return copy;
  }

  void save_config() {
    RunConfig saved = saved_config();
    folder_->write("config.toml", write_toml(saved));
  }

  // A backend that has measured which of its ways is quickest keeps to it for the whole run, resumed
  // or not: another way may give other bits.
  void load_choices() {
    const KernelTable& kernels = context_->kernels();
    if (kernels.set_choices != nullptr && std::filesystem::exists(folder_->choices_file()))
      kernels.set_choices(read_file(folder_->choices_file()), context_->queue());
  }

  void save_choices(RunFolder& folder) {
    const KernelTable& kernels = context_->kernels();
    if (kernels.choices != nullptr) folder.write("choices.txt", kernels.choices(context_->queue()));
  }

  // False when a stop was asked for: the state is then the one before the step.
  bool one_step() override {
    const Progress before = trainer_->progress();
    const bool first = !meter_->has_floor();
    ProductLog products;
    const std::optional<StepResult> result = observed_step(first ? &products : nullptr);
    if (!result) return false;
    note(*result);
    tell_phase(before.step);
    if (!result->finite && config().train.on_nonfinite == "stop") stop_at(before, *result);
    record(*result);
    if (const auto sample = trainer_->sparsity().take_sample()) record(*sample);
    if (first) meter_->set_floor(floor_seconds(products.measure_products(*context_, 1, false)));
    const std::optional<Stall> stall = watch(*result);
    if (due(result->step, config().eval.every, config().train.steps)) evaluate();
    if (due(result->step, config().checkpoint.every, config().train.steps)) save();
    if (!stall || config().health.on_stall != "stop") return true;
    if (saved_step_ != stall->step) save();
    fail_stalled(*stall, folder_->path());
  }

  std::optional<Stall> watch(const StepResult& result) {
    const std::int64_t phase = config().recipe.is_dense() ? 0 : trainer_->sparsity().phase_index();
    const std::optional<Stall> stall =
        stall_watch_->observe(result.step, phase, result.loss, result.lr);
    if (stall) metrics_.write(stall_record(*stall));
    if (stall) listener_.on_alarm(stall->step, stall->text());
    return stall;
  }

  // Data or schedules of a program may throw in the midst of it.
  std::optional<StepResult> observed_step(OpObserver* observer) {
    const ProfilerRange range(context_->kernels(), "step");
    struct Watching {
      explicit Watching(Context& of, OpObserver* by) : context(of) { context.observer = by; }
      ~Watching() { context.observer = nullptr; }
      Context& context;
    };
    const Watching watching(*context_, observer);
    return trainer_->step_unless(stop_);
  }

  void record(const StepResult& result) {
    MetricRecord record = step_record(result, *trainer_);
    const bool is_shown =
        !meter_->has_floor() || due(result.step, config().log.every, config().train.steps);
    const StepShares shares =
        meter_->measure(result.seconds, trainer_->sparsity().flops().dense, is_shown, record);
    metrics_.write(record);
    listener_.on_step(result, shares);
  }

  void record(const HealthSample& sample) {
    metrics_.write(health_record(sample));
    listener_.on_health(sample);
  }

  // `step` counts from 0: the first of the new phase.
  void tell_phase(std::int64_t step) {
    const SparsityEngine& sparsity = trainer_->sparsity();
    if (config().recipe.is_dense()) return;
    if (sparsity.forced_dense()) {
      if (!told_alarm_) listener_.on_phase(step, kDenseSinceAlarm);
      told_alarm_ = true;
      return;
    }
    if (sparsity.phase_index() == told_phase_) return;
    told_phase_ = sparsity.phase_index();
    const PhaseRuns* runs = sparsity.runs_of_phase();
    listener_.on_phase(
        step, runs != nullptr ? describe(sparsity.phase(), *runs) : describe(sparsity.phase()));
    if (runs != nullptr && step == sparsity.phase_begin())
      metrics_.write(runs_record(step + 1, *runs));
  }

  // The loss of the exported weights decides; in a sparse phase that of the plain weights and that of the
  // function that is trained stand beside it.
  void evaluate() {
    if (!trainer_->has_validation()) return;
    const double loss = trainer_->evaluate();
    MetricRecord record;
    record.add("step", trainer_->progress().step).add("val_loss", loss);
    const SparsityEngine& sparsity = trainer_->sparsity();
    const bool otherwise = sparsity.projects_weights() || sparsity.trains_otherwise();
    const double master = sparsity.projects_weights() ? trainer_->evaluate_master() : loss;
    const double as_trained = sparsity.trains_otherwise() ? trainer_->evaluate_as_trained() : loss;
    if (otherwise) record.add("val_loss_master", master).add("val_loss_as_trained", as_trained);
    metrics_.write(record);
    listener_.on_evaluation(trainer_->progress().step, loss);
    if (otherwise) listener_.on_sparse_evaluation(master, as_trained);
  }

  void save() {
    // Metrics first: a checkpoint never knows steps that the metrics have lost.
    metrics_.flush();
    saved_path_ = folder_->save_with([&](RunFolder& folder) {
      save_choices(folder);
      return save_checkpoint(folder.held_checkpoints(), *trainer_, config().checkpoint.keep);
    });
    saved_step_ = trainer_->progress().step;
    listener_.on_checkpoint(saved_path_);
  }

  std::string save_now() override {
    if (saved_step_ != trainer_->progress().step) save();
    return saved_path_;
  }

  Outcome interrupted() {
    save_now();
    listener_.on_end(/*interrupted=*/true);
    return Outcome::kInterrupted;
  }

  RunStanding standing() const {
    const std::int64_t step = trainer_->progress().step;
    const SparsityEngine& sparsity = trainer_->sparsity();
    const Plan& plan = sparsity.plan();
    const bool may_pack = !sparsity.forced_dense();
    return {.config = config(),
            .plan = plan,
            .steps_left = config().train.steps - step,
            .last_step_seconds = last_step_seconds_,
            .last_step_packed = last_step_packed_,
            .packs_from_here = may_pack && plan.is_packed_from(sparsity.phase_at(step))};
  }

  void note(const StepResult& result) {
    const SparsityEngine& sparsity = trainer_->sparsity();
    last_step_seconds_ = result.seconds;
    last_step_packed_ =
        !sparsity.forced_dense() && sparsity.plan().is_packed(sparsity.phase_index());
  }

  // A stop that was asked for comes first: who goes on would not know of it.
  Outcome handed_over() {
    save_now();
    return stop_ ? interrupted() : Outcome::kHandedOver;
  }

  // The update was not applied, so the state in front of this step is intact: save that.
  [[noreturn]] void stop_at(const Progress& before, const StepResult& result) {
    trainer_->take_back(before);
    if (saved_step_ != before.step) save();
    fail(
        "step {}: the {} is not finite; the state before it is saved in {}; lower optimizer.lr in "
        "a "
        "new run, or go on with --resume {} train.on_nonfinite=skip",
        result.step, std::isfinite(result.loss) ? "gradient" : "loss", saved_path_,
        shell_quoted(folder_->path()));
  }

  void show_sample() {
    listener_.on_sample_begin();
    sample(*context_, as_language_model(trainer_->model(), "a sample"), *tokenizer_, "",
           {.tokens = config().log.sample_tokens,
            .seed = static_cast<std::uint64_t>(config().train.seed)},
           [this](std::string_view text) {
             listener_.on_sample(text);
             return !stop_;
           });
  }

  TrainRequest request_;
  TrainingListener& listener_;
  const std::atomic<bool>& stop_;
  std::optional<RunFolder> folder_;
  std::optional<AnyModel> start_;  // until its weights are read
  std::unique_ptr<Tokenizer> tokenizer_;
  TrainingData data_;
  std::optional<Context> context_;
  std::optional<Trainer> trainer_;
  MetricSinks metrics_;
  std::optional<StepMeter> meter_;
  std::optional<StallWatch> stall_watch_;
  std::int64_t saved_step_ = -1;
  std::string saved_path_;
  std::int64_t told_phase_ = -1;
  bool told_alarm_ = false;
  double last_step_seconds_ = 0.0;
  bool last_step_packed_ = false;
};

}  // namespace

std::unique_ptr<OpenRun> open_run(const TrainRequest& request, TrainingListener& listener,
                                  const std::atomic<bool>& stop) {
  return std::make_unique<Run>(request, listener, stop);
}

Outcome run_training(const TrainRequest& request, TrainingListener& listener,
                     const std::atomic<bool>& stop) {
  return Run(request, listener, stop).execute();
}

}  // namespace twill
