// SPDX-License-Identifier: Apache-2.0
#include "train/run/run_config.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <random>
#include <string_view>

#include "base/require.h"
#include "io/config/toml_config.h"
#include "models/presets.h"
#include "nn/recompute.h"
#include "train/run/foreign_words.h"
#include "train/run/preset_training.h"

namespace twill {
namespace {

constexpr std::int64_t kMany = 1'000'000'000;
constexpr std::int64_t kMaxMicroBatchTokens = 1 << 26;

constexpr std::array<std::string_view, 12> kDevices{"auto",   "cpu",    "cuda",   "cuda:0",
                                                    "cuda:1", "cuda:2", "cuda:3", "cuda:4",
                                                    "cuda:5", "cuda:6", "cuda:7", "reference"};
constexpr std::array<std::string_view, 3> kPrecisions{"auto", "bf16", "f32"};
constexpr std::array<std::string_view, 2> kOnNonfinite{"stop", "skip"};
constexpr std::array<std::string_view, 3> kOnStall{"off", "warn", "stop"};
constexpr std::array<std::string_view, 2> kMoments{"f32", "bf16"};
constexpr std::array<std::string_view, 4> kSchedules{"cosine", "linear", "wsd", "constant"};

}  // namespace

void RunSection::fields(FieldVisitor& visit) {
  visit("name", name, {}, "name of the run's folder; empty takes the next free one (gpt-001)",
        OnResume::kFree);
  visit("dir", dir, {}, "folder that holds the runs", OnResume::kFree);
  visit("id", id, {}, "ties checkpoints to their run; a new run makes one at random");
  visit(
      "restart_saves", restart_saves, Range<double>{0.0, 1e12},
      "dense steps behind the last packed ones go on in a new process, at full clocks, where that "
      "saves so many seconds",
      OnResume::kFree);
}

void TrainConfig::fields(FieldVisitor& visit) {
  visit("steps", steps, Range<std::int64_t>{1, kMany}, "optimizer steps", OnResume::kFree);
  visit("seed", seed, Range<std::int64_t>{0, std::int64_t{1} << 62},
        "decides initial weights, order of the data and dropout");
  visit("sequence", sequence, Range<std::int64_t>{0, 1 << 24},
        "tokens per training sequence; 0 takes model.context");
  visit("micro_batch", micro_batch, Range<std::int64_t>{1, 1 << 16},
        "sequences that pass through the model at once; decides memory");
  visit("batch_tokens", batch_tokens, Range<std::int64_t>{0, std::int64_t{1} << 40},
        "tokens per optimizer step, reached by accumulating gradients; 0 takes one micro-batch");
  visit("precision", precision, kPrecisions,
        "type of activations and operands; auto: bf16 on a GPU, f32 on the CPU, where bf16 rounds "
        "the operands of matrix products and attention only. Weights, gradients and sums are "
        "f32 in either, moments too unless optimizer.moments says otherwise");
  visit("recompute", recompute, kRecomputeNames,
        "what the backward pass computes again instead of keeping it: less memory, more time, the "
        "same bits",
        OnResume::kFree);
  visit("on_nonfinite", on_nonfinite, kOnNonfinite,
        "when loss or gradient is not finite: stop the run, or skip the update", OnResume::kFree);
  visit("start_from", start_from, {},
        "model whose weights the run starts with: a run, one of its checkpoints, a Hugging Face "
        "folder or a .bin file; its shape then decides the model keys");
}

void OptimizerGroup::fields(FieldVisitor& visit) {
  visit("match", match, {}, "glob over parameter names, as blocks.*.bias");
  visit("lr_scale", lr_scale, Range<double>{-1.0, 1e6},
        "factor on the learning rate; -1 leaves it as it is");
  visit("weight_decay", weight_decay, Range<double>{-1.0, 1e6},
        "decoupled decay of these; -1 leaves it as it is");
}

void OptimizerConfig::fields(FieldVisitor& visit) {
  visit("lr", lr, Range<double>{0.0, 1e3}, "peak learning rate of AdamW");
  visit("beta1", beta1, Range<double>{0.0, 0.999999}, "decay of the first moment");
  visit("beta2", beta2, Range<double>{0.0, 0.999999999}, "decay of the second moment");
  visit("eps", eps, Range<double>{0.0, 1.0}, "added to the root of the second moment");
  visit("weight_decay", weight_decay, Range<double>{0.0, 1e6},
        "decoupled decay of matrices; vectors (norms, biases) do not decay");
  visit("clip", clip, Range<double>{0.0, 1e9}, "largest global gradient norm; 0 does not clip");
  visit("moments", moments, kMoments,
        "type in which both moments are kept; bf16 takes half the memory and rounds them by "
        "chance; a run can go on from f32 to bf16, not back",
        OnResume::kFree);
  visit.list("group", group, "rules for some parameters; later ones win");
}

void ScheduleConfig::fields(FieldVisitor& visit) {
  visit("kind", kind, kSchedules, "course of the learning rate after the warm-up");
  visit("warmup_steps", warmup_steps, Range<std::int64_t>{0, kMany},
        "steps of linear growth from zero");
  visit("min_lr", min_lr, Range<double>{0.0, 1.0}, "last learning rate, as a share of the peak");
  visit("decay_fraction", decay_fraction, Range<double>{0.0, 1.0},
        "wsd: share of the run spent in the final decay");
}

void EvalConfig::fields(FieldVisitor& visit) {
  visit("every", every, Range<std::int64_t>{0, kMany},
        "steps between evaluations; 0 evaluates at the start and at the end only");
  visit("windows", windows, Range<std::int64_t>{0, kMany},
        "validation sequences per evaluation, evenly spread; 0 takes all");
}

void CheckpointConfig::fields(FieldVisitor& visit) {
  visit("every", every, Range<std::int64_t>{0, kMany},
        "steps between checkpoints; 0 saves at the end only", OnResume::kFree);
  visit("keep", keep, Range<std::int64_t>{1, kMany}, "checkpoints kept; older ones are removed",
        OnResume::kFree);
}

void LogConfig::fields(FieldVisitor& visit) {
  visit("every", every, Range<std::int64_t>{1, kMany},
        "steps between progress lines when the output is not a terminal", OnResume::kFree);
  visit("sample_tokens", sample_tokens, Range<std::int64_t>{0, 1 << 20},
        "tokens of the sample printed at the end; 0 prints none", OnResume::kFree);
}

void HealthSection::fields(FieldVisitor& visit) {
  visit("stall_window", stall_window, Range<std::int64_t>{0, kMany},
        "steps of the windows whose losses are compared to notice a run that has stopped to learn; "
        "0 takes a tenth of the run, at least 50",
        OnResume::kFree);
  visit("on_stall", on_stall, kOnStall,
        "when the training loss has stopped to fall: off, warn, or stop: save and end the run",
        OnResume::kFree);
}

void RunConfig::fields(FieldVisitor& visit) {
  visit("device", device, kDevices, "where to compute; auto takes the GPU when there is one");
  visit("threads", threads, Range<std::int64_t>{0, 1024},
        "CPU threads; 0 takes all; changes no result", OnResume::kFree);
  visit("plan", plan, {},
        "a plan.toml to run the recipe by, in place of measuring; a resumed run keeps its own",
        OnResume::kFree);
  visit.section("run", run, "where the run lives");
  visit.section("model", model, "shape of the model", "name");
  visit.section("recipe", recipe, "sparsity", "name");
  visit.section("data", data, "text to learn from", "train");
  visit.section("train", train, "length and size of the run");
  visit.section("optimizer", optimizer, "AdamW");
  visit.section("schedule", schedule, "learning rate");
  visit.section("eval", eval, "evaluation during training");
  visit.section("checkpoint", checkpoint, "saving");
  visit.section("log", log, "what is shown");
  visit.section("health", health, "alarms of the run; those of masks are recipe.on_alarm's");
}

std::int64_t RunConfig::accumulation() const {
  return train.batch_tokens == 0 ? 1 : train.batch_tokens / micro_batch_tokens();
}

namespace {

bool is_recipe_file(const std::string& name) { return name.ends_with(".toml"); }

TomlDocument read_document(const std::string& file, const std::vector<std::string>& overrides) {
  TomlDocument document;
  if (!file.empty()) document = TomlDocument::parse_file(file);
  for (const std::string& pair : overrides) document.overlay(pair);
  return document;
}

}  // namespace

namespace {

// The document over what is there. A recipe that it names is read whole.
RunConfig laid_over(RunConfig config, const TomlDocument& document, const std::string& recipe) {
  const bool known = find_recipe(recipe).has_value() || is_recipe_file(recipe);
  if (known) config.recipe = read_recipe(recipe);
  const std::string name = config.recipe.name;
  // A list of phases stands for itself: nothing of the named recipe's is left under it.
  if (document.has_list("recipe.phase")) config.recipe.phase.clear();
  read(document, config, key_meant_by);
  // A recipe of a file keeps its own name: the file may be gone when the run is resumed.
  if (known) config.recipe.name = name;
  if (!known && config.recipe.phase.empty()) (void)read_recipe(recipe);  // says what is known
  return config;
}

}  // namespace

RunConfig read_run_config(const std::string& file, const std::vector<std::string>& overrides,
                          NoRecipe nobody) {
  const TomlDocument document = read_document(file, overrides);
  RunConfig config;
  const std::string model = document.text_at("model.name").value_or(config.model.name);
  if (const auto preset = find_preset(model)) config.model = *preset;
  apply_training(model, config);
  const std::optional<std::string> recipe = document.text_at("recipe.name");
  const bool is_default =
      !recipe && nobody == NoRecipe::kPreset && !document.has_list("recipe.phase") &&
      !document.has(
          "train.start_from");  // a preset's recipe is for its own model from the first step on
  if (is_default) config.recipe = recipe_of_preset(model);
  if (is_default && !config.recipe.is_dense())
    read(document, config, key_meant_by);
  else
    config = laid_over(config, document, recipe.value_or(config.recipe.name));
  if (!document.has("train.batch_tokens")) fit_batch(config);
  return config;
}

RunConfig read_run_config_over(RunConfig saved, const std::string& file,
                               const std::vector<std::string>& overrides) {
  const TomlDocument document = read_document(file, overrides);
  const std::optional<std::string> recipe = document.text_at("recipe.name");
  if (recipe) {
    // What the file leaves open is the run's.
    const Execution execution = saved.recipe.execution;
    RunConfig config = laid_over(std::move(saved), document, *recipe);
    if (!document.has("recipe.execution")) config.recipe.execution = execution;
    return config;
  }
  if (document.has_list("recipe.phase")) saved.recipe.phase.clear();
  read(document, saved, key_meant_by);
  return saved;
}

RecipeConfig read_recipe(const std::string& name) {
  RecipeConfig recipe;
  if (is_recipe_file(name)) {
    recipe.name = std::filesystem::path(name).stem().string();
    read(TomlDocument::parse_file(name), recipe);
    // With a phase of its own the run is complete without the file.
    if (recipe.phase.empty()) recipe.phase.emplace_back();
    return recipe;
  }
  const auto text = find_recipe(name);
  std::vector<std::string> names;
  for (const BuiltInRecipe& known : built_in_recipes()) names.emplace_back(known.name);
  require(
      text.has_value(),
      "unknown recipe '{}'; did you mean '{}'? `twill recipes` lists them; a file ends in .toml",
      name, nearest(name, names));
  read(TomlDocument::parse_text(*text, fmt::format("recipe {}", name)), recipe);
  return recipe;
}

std::string runs_dir(const std::string& file, const std::vector<std::string>& overrides) {
  return read_document(file, overrides).text_at("run.dir").value_or(RunSection().dir);
}

std::string run_id(const std::vector<std::string>& overrides) {
  std::string id = read_document("", overrides).text_at("run.id").value_or("");
  if (!id.empty()) return id;
  std::random_device random;
  for (int word = 0; word < 4; ++word) id += fmt::format("{:08x}", random());
  return id;
}

namespace {

void require_recipe_fits(const RunConfig& config) {
  validate(config.recipe, config.length());
  const std::string& needed = config.recipe.needs_activation;
  require(needed.empty() || needed == config.model.ffn.activation,
          "recipe {} is made for model.ffn.activation = \"{}\", got \"{}\": set "
          "model.ffn.activation={}",
          config.recipe.name, needed, config.model.ffn.activation, needed);
}

// Ops of sparsity that read or set moments know them in f32.
void require_moments_fit(const RunConfig& config) {
  if (config.optimizer.moments == "f32") return;
  for (const PhaseConfig& phase : config.recipe.phase) {
    const bool watches = phase.early_end.when != EarlyEnd::kNever;
    const bool regrows = phase.weights.is_topology() && phase.optimizer.regrown != Regrown::kKeep;
    require(!watches && !regrows,
            "recipe {} {} and needs them in f32, but optimizer.moments = \"{}\": leave the key out",
            config.recipe.name,
            watches ? "watches the second moments (early_end)"
                    : "sets the moments of regrown weights (optimizer.regrown)",
            config.optimizer.moments);
  }
}

}  // namespace

RunConfig resolved(RunConfig config, std::int64_t tokenizer_vocab) {
  require(
      config.data.tokenizer != kNoTokenizer || config.model.vocab > 0,
      "data.tokenizer = \"{}\" says nothing of the vocabulary: set model.vocab to one more than "
      "the largest id of the shards",
      kNoTokenizer);
  config.model = resolved(config.model, tokenizer_vocab);
  require(config.sequence() <= config.model.context,
          "train.sequence = {} is longer than model.context = {}; lower the one or raise the other",
          config.sequence(), config.model.context);
  const std::int64_t micro = config.micro_batch_tokens();
  // With the ranges of the model's fields this keeps every byte count far below 2^63.
  require(
      micro <= kMaxMicroBatchTokens,
      "train.micro_batch x sequence = {} tokens, expected at most {}; lower train.micro_batch and "
      "reach the batch with train.batch_tokens",
      micro, kMaxMicroBatchTokens);
  require(config.train.batch_tokens % micro == 0,
          "train.batch_tokens = {} must be a multiple of train.micro_batch x sequence = {}; the "
          "nearest is {}",
          config.train.batch_tokens, micro,
          std::max<std::int64_t>(1, (config.train.batch_tokens + micro / 2) / micro) * micro);
  require_recipe_fits(config);
  require_moments_fit(config);
  return config;
}

}  // namespace twill
