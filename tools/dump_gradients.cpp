// SPDX-License-Identifier: Apache-2.0
// Writes what tools/compare_gradients.py compares with PyTorch: the first step of a run, on the device
// and in the precision of the config.
//
//   twill_dump_gradients DIR [CONFIG.toml] [key=value ...]
//
// DIR gets weights, gradients and batch as safetensors, loss.json and config.json.
#include <cstdio>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "io/atomic_file.h"
#include "io/paths.h"
#include "io/tensors/safetensors.h"
#include "ops/transfer.h"
#include "train/run/device_choice.h"
#include "train/run/run_data.h"
#include "train/step/trainer.h"

namespace twill {
namespace {

// Values of the device, kept on the host while a file is written.
class HostTensors {
 public:
  explicit HostTensors(const Context& context) : context_(context) {}

  void add(std::string name, ConstView view) {
    const HostCopy& copy = copies_.emplace_back(context_, view);
    entries_.push_back({std::move(name), copy.view()});
  }
  void write(const std::string& path) const { write_safetensors(path, entries_, {}); }

 private:
  const Context& context_;
  std::deque<HostCopy> copies_;
  std::vector<TensorEntry> entries_;
};

std::string config_json(const ModelConfig& model) {
  return fmt::format(
      R"({{"family": "{}", "layers": {}, "width": {}, "heads": {}, "kv_heads": {}, "vocab": {}, )"
      R"("context": {}, "ffn_width": {}, "ffn_activation": "{}", "norm": "{}", "norm_eps": {}, )"
      R"("positions": "{}", "rotary_theta": {}, "tied_head": {}, "bias": {}}})"
      "\n",
      model.family, model.layers, model.width, model.heads, model.kv_heads, model.vocab,
      model.context, model.ffn.width, model.ffn.activation, model.norm, model.norm_eps,
      model.positions, model.rotary_theta, model.tied_head, model.bias);
}

void dump(const std::string& folder, const std::string& file,
          const std::vector<std::string>& overrides) {
  const RunSetup setup = set_up(read_run_config(file, overrides));
  const RunConfig& config = setup.config;
  const std::int64_t batch = config.train.micro_batch, time = config.sequence();
  const Context context = open_context(config);
  Trainer trainer(context, config, open_run_data(config, setup.tokenizer.get()));
  trainer.begin();
  BatchStorage storage(trainer.data().layout(), batch);
  const Batch examples = storage.rows(0, batch);
  trainer.data().fill(0, examples);
  const Pass pass{.context = context, .batch = batch, .time = time, .training = true};
  const double loss = trainer.model().loss_and_gradient(pass, examples).mean;

  create_directories(folder);
  HostTensors weights(context), gradients(context);
  for (const Parameter& parameter : trainer.builder().parameters()) {
    weights.add(parameter.name, parameter.value);
    gradients.add(parameter.name, parameter.gradient);
  }
  weights.write(folder + "/weights.safetensors");
  gradients.write(folder + "/gradients.safetensors");
  const std::vector<TensorEntry> ids{{"tokens", examples.at(kTokens)},
                                     {"targets", examples.at(kTargets)}};
  write_safetensors(folder + "/batch.safetensors", ids, {});
  write_file(folder + "/loss.json", fmt::format("{{\"loss\": {:.9g}}}\n", loss));
  write_file(folder + "/config.json", config_json(config.model));
  fmt::print("{} on {}: loss {:.6f}, {} parameters\n", config.model.name, context.kernels().name,
             loss, trainer.builder().parameters().size());
}

}  // namespace
}  // namespace twill

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    std::fputs("usage: twill_dump_gradients DIR [CONFIG.toml] [key=value ...]\n", stderr);
    return 2;
  }
  const std::string folder = words.front();
  words.erase(words.begin());
  std::string file;
  if (!words.empty() && words.front().ends_with(".toml")) {
    file = words.front();
    words.erase(words.begin());
  }
  try {
    twill::dump(folder, file, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "twill_dump_gradients: %s\n", error.what());
    return 1;
  }
  return 0;
}
