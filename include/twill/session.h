// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "twill/error.h"
#include "twill/recipe.h"

namespace twill {

// What sparsity does to a layer in one step (docs/health.md).
struct LayerReport {
  std::string name;          // "blocks.0.ffn.input"
  double flip_rate = 0.0;    // share of the mask's bits that this step changes
  double kept_l1 = 1.0;      // what the mask keeps of the weights' L1,
  double kept_energy = 1.0;  // and of their squares
  double density = 1.0;      // share of the weights that exist
};
struct HealthReport {
  LayerReport overall;  // weighted by the number of weights
  std::vector<LayerReport> layers = {};
  std::string alarm = {};  // a sentence; empty: all is well
};

struct StepReport {
  std::int64_t step = 0;    // counts from 1
  std::int64_t tokens = 0;  // learnt from so far
  double loss = 0.0;        // mean over the step's targets, in nats
  double learning_rate = 0.0;
  double gradient_norm = 0.0;
  double seconds = 0.0;
  double tokens_per_second = 0.0;
  bool finite = true;  // false: loss or gradient was not finite and no update was applied
  std::optional<double> validation_loss = {};  // behind steps where eval.every is due
  std::optional<HealthReport> health = {};     // where recipe.health.every is due
};

// Examples of your own in place of those of the config. Example number `position` (0, 1, 2, …) is written
// into `tokens` and `targets`, Session::sequence() ids each; a target of -1 does not count. Step s reads
// the examples_per_step() examples from (s - 1) x examples_per_step() on, so a resumed run asks for the same
// ones. A session may ask for an example before its step, and again. What the functions throw comes out of
// the call that asked.
struct OwnData {
  using Fill = std::function<void(std::int64_t position, std::span<std::int32_t> tokens,
                                  std::span<std::int32_t> targets)>;
  Fill train;
  // Examples 0 … validation_examples - 1, of which an evaluation takes eval.windows, evenly spread (0: all).
  // Empty: no validation loss.
  Fill validation = {};
  std::int64_t validation_examples = 0;
};

struct SessionOptions {
  std::vector<std::string> settings = {};  // "key=value", the keys of docs/config.md
  std::string config_file = {};            // TOML; the settings lie over it
  std::optional<Recipe> recipe = {};  // in place of the key `recipe`; settings may change its keys
  // In place of data.*, of which only data.tokenizer is left: it is "none" unless set (then model.vocab is
  // needed), or that of the model that train.start_from names. No file keeps the examples: who resumes the
  // run gives them again, and only a program can.
  std::optional<OwnData> data = {};
  // The learning rate of a step, which counts from 1, in place of `schedule` and optimizer.lr. No file
  // keeps it: who resumes the run gives it again.
  std::function<double(std::int64_t step)> learning_rate = {};
};

struct WeightInfo {
  std::string name;  // "blocks.0.ffn.input.weight"
  std::vector<std::int64_t> shape;
};

// A model in training. Not for use by several threads at once. A program with signal handlers of its own:
// see docs/decisions/002-signals.md. What the caller can mend is a twill::Error, whose text is a sentence;
// a function that throws one has changed nothing, unless it says otherwise.
//
// A sparse recipe is timed first and the result kept in ~/.cache/twill (docs/plan.md);
// recipe.execution=packed or masked measures nothing. Under auto only rounding depends on it.
class Session {
 public:
  // In memory: nothing is written before save(). Every key is honoured but those of files and screen:
  // run.*, checkpoint.* and log.* are refused.
  explicit Session(const std::vector<std::string>& settings);
  explicit Session(const SessionOptions& options);

  // A new run in a folder, run.dir/run.name, as `twill train` makes it: the same files and, under the same
  // plan, the same bits. It saves where checkpoint.every is due and behind the last step. log.* and
  // run.restart_saves are kept for the command; here nothing is printed and no process replaced.
  static Session start(const SessionOptions& options);
  // Goes on with a run (name, path or one of its checkpoints), of the command or of a program. Keys that
  // decide what is learnt may not change. The recipe is the run's.
  static Session resume(const std::string& run, const SessionOptions& options = {});

  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  // --- training

  // One optimizer step. Throws behind the last one, and under train.on_nonfinite=stop (the default) where
  // loss or gradient is not finite: the state is then the one before the step, which a run in a folder
  // has saved. Under health.on_stall=stop it throws behind a step that was taken.
  StepReport step();
  bool done() const;  // all of train.steps are taken
  // Steps until done() or until `after_step`, called behind each, returns false. A run in a folder is saved
  // then.
  void train(const std::function<bool(const StepReport&)>& after_step);
  std::int64_t steps_done() const;

  std::int64_t sequence() const;           // ids of an example
  std::int64_t examples_per_step() const;  // of all micro-batches
  std::int64_t vocab() const;
  // Every value of the config, as TOML.
  std::string config() const;

  // Mean loss over the validation examples, in nats per token, of the weights as they leave the house.
  double validation_loss();

  // --- the model

  // Behind the last of `ids` (one to sequence() of them): vocab() logits, the larger the likelier. Of the
  // weights as they leave the house.
  std::vector<float> logits(std::span<const std::int32_t> ids);

  // Continues `prompt` by `tokens` tokens. Temperature 0 takes the likeliest token.
  std::string sample(std::string_view prompt, std::int64_t tokens, double temperature = 0.8,
                     std::uint64_t seed = 1);

  // Master weights, row by row, as f32. In a sparse phase logits, samples and exports are those of their
  // projection.
  std::vector<WeightInfo> weights() const;
  std::vector<float> read_weight(const std::string& name) const;
  // Finite values, as many as there are. Moments stay as they are. Under a sparse recipe only a session in
  // memory that has done nothing yet lets weights be set: masks follow from them.
  void write_weight(const std::string& name, std::span<const float> values);

  // --- files

  // Of a session in memory: saves it as a run in `folder`, which is new, empty or saved to before, and
  // keeps earlier checkpoints. Every command reads it: `twill sample FOLDER`, `eval`, `export`,
  // train.start_from, `train --resume`. Returns the path of the checkpoint.
  std::string save(const std::string& folder);
  // Of a run in a folder: saves now, unless that has been done.
  std::string save();
  // Of a run in a folder; empty in memory.
  std::string folder() const;

  // Writes what Hugging Face transformers loads: the weights as they leave the house, config and
  // tokenizer. `dtype` is "f32" or "bf16". The folder is new, empty or a former export.
  void export_to(const std::string& folder, const std::string& dtype = "f32") const;

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace twill
