// SPDX-License-Identifier: Apache-2.0
#include "twill/session.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/require.h"
#include "io/config/toml_config.h"
#include "ops/transfer.h"
#include "train/library/session_work.h"
#include "train/library/trainer_source.h"
#include "train/model/export_model.h"
#include "train/model/sampler.h"

namespace twill {

struct Session::State {
  State(std::unique_ptr<SessionWork> opened, const SessionOptions& options)
      : work(std::move(opened)) {
    if (!options.learning_rate) return;
    trainer().set_schedule([rate = options.learning_rate](std::int64_t step) {
      const double lr = rate(step);
      require(std::isfinite(lr) && lr >= 0.0,
              "the program's learning rate of step {} is {}, expected a number from 0 on", step,
              lr);
      return lr;
    });
  }

  Trainer& trainer() const { return work->trainer(); }
  const RunConfig& config() const { return trainer().config(); }
  Parameter& weight(const std::string& name) const {
    std::deque<Parameter>& all = trainer().builder().parameters();
    const auto found = std::ranges::find(all, name, &Parameter::name);
    require(found != all.end(), "the model has no weight \"{}\"; weights() lists them", name);
    return *found;
  }
  LanguageModel& language_model(std::string_view what) const {
    return as_language_model(trainer().model(), what);
  }

  std::unique_ptr<SessionWork> work;
};

StepReport report_of(const StepResult& result, const RunConfig& config) {
  return {.step = result.step,
          .tokens = result.tokens,
          .loss = result.loss,
          .learning_rate = result.lr,
          .gradient_norm = result.grad_norm,
          .seconds = result.seconds,
          .tokens_per_second = tokens_per_second(result, config),
          .finite = result.finite};
}

HealthReport report_of(const HealthSample& sample) {
  const auto of_layer = [](const LayerHealth& layer) {
    return LayerReport{.name = layer.name,
                       .flip_rate = layer.flip_rate,
                       .kept_l1 = layer.kept_l1,
                       .kept_energy = layer.kept_energy,
                       .density = layer.density};
  };
  HealthReport report{.overall = of_layer(sample.overall), .layers = {}, .alarm = sample.alarm};
  for (const LayerHealth& layer : sample.layers) report.layers.push_back(of_layer(layer));
  return report;
}

Session::Session(const std::vector<std::string>& settings)
    : Session(SessionOptions{.settings = settings}) {}
Session::Session(const SessionOptions& options)
    : Session(std::make_unique<State>(open_in_memory(options), options)) {}
Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session Session::start(const SessionOptions& options) {
  return Session(std::make_unique<State>(open_in_folder("", options), options));
}
Session Session::resume(const std::string& run, const SessionOptions& options) {
  require(!run.empty(), "the name of the run to resume is empty");
  return Session(std::make_unique<State>(open_in_folder(run, options), options));
}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

StepReport Session::step() {
  require(!done(), "all {} steps are taken: train.steps says how many there are",
          state_->config().train.steps);
  return state_->work->step();
}

bool Session::done() const { return steps_done() >= state_->config().train.steps; }

void Session::train(const std::function<bool(const StepReport&)>& after_step) {
  while (!done())
    if (!after_step(step())) break;
  if (!folder().empty()) save();
}

std::int64_t Session::steps_done() const { return state_->trainer().progress().step; }

std::int64_t Session::sequence() const { return state_->config().sequence(); }

std::int64_t Session::examples_per_step() const {
  return state_->config().accumulation() * state_->config().train.micro_batch;
}

std::int64_t Session::vocab() const { return state_->config().model.vocab; }

std::string Session::config() const {
  RunConfig config = state_->config();
  return write_toml(config);
}

double Session::validation_loss() {
  require(state_->trainer().has_validation(),
          "there is no validation loss: the program's own data have no validation examples");
  state_->work->look();
  return state_->trainer().evaluate();
}

std::vector<float> Session::logits(std::span<const std::int32_t> ids) {
  LanguageModel& model = state_->language_model("logits");
  const auto count = static_cast<std::int64_t>(ids.size());
  require(count >= 1 && count <= sequence(), "logits need 1 to {} ids, got {}", sequence(), count);
  state_->work->look();
  const Context& context = state_->trainer().context();
  return host_floats(context, model.next_token_logits({.context = context, .time = count}, ids));
}

std::string Session::sample(std::string_view prompt, std::int64_t tokens, double temperature,
                            std::uint64_t seed) {
  const Tokenizer* tokenizer = state_->work->tokenizer();
  require(tokenizer != nullptr,
          "a sample needs a tokenizer, and data.tokenizer = \"none\" brings none");
  LanguageModel& model = state_->language_model("a sample");
  state_->work->look();
  std::string text(prompt);
  twill::sample(state_->trainer().context(), model, *tokenizer, prompt,
                {.tokens = tokens, .temperature = temperature, .seed = seed},
                [&](std::string_view piece) {
                  text += piece;
                  return true;
                });
  return text;
}

std::vector<WeightInfo> Session::weights() const {
  std::vector<WeightInfo> all;
  for (const Parameter& parameter : state_->trainer().builder().parameters()) {
    WeightInfo& info = all.emplace_back(WeightInfo{.name = parameter.name, .shape = {}});
    for (int axis = 0; axis < parameter.shape.rank(); ++axis)
      info.shape.push_back(parameter.shape[axis]);
  }
  return all;
}

std::vector<float> Session::read_weight(const std::string& name) const {
  return host_floats(state_->trainer().context(), state_->weight(name).value);
}

void Session::write_weight(const std::string& name, std::span<const float> values) {
  const Parameter& parameter = state_->weight(name);
  const auto count = static_cast<std::size_t>(parameter.value.num_elements());
  require(values.size() == count, "weight {} has {} values, got {}", name, count, values.size());
  const auto strange = std::ranges::find_if_not(values, [](float v) { return std::isfinite(v); });
  require(strange == values.end(), "weight {}: value {} is not finite", name,
          strange - values.begin());
  require(state_->config().recipe.is_dense() || state_->work->is_untouched(),
          "weight {} cannot be set any more: recipe {} has masks that follow from the weights; set "
          "weights of a new session in memory, before anything else",
          name, state_->config().recipe.name);
  const Context& context = state_->trainer().context();
  copy_in(context, parameter.value, values.data());
  refresh_operand(context, parameter);
  wait(context);
}

std::string Session::save(const std::string& folder) { return state_->work->save_to(folder); }
std::string Session::save() { return state_->work->save(); }
std::string Session::folder() const { return state_->work->folder(); }

void Session::export_to(const std::string& folder, const std::string& dtype) const {
  require(dtype == "f32" || dtype == "bf16",
          "dtype \"{}\" cannot be exported, expected f32 or bf16", dtype);
  state_->work->look();
  export_model(TrainerSource(state_->trainer()), state_->work->tokenizer(),
               {.folder = folder, .dtype = dtype == "bf16" ? DType::kBf16 : DType::kF32});
}

}  // namespace twill
