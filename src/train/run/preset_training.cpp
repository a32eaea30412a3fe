// SPDX-License-Identifier: Apache-2.0
#include "train/run/preset_training.h"

#include <algorithm>
#include <array>

namespace twill {
namespace {

struct PresetTraining {
  std::string_view name;
  double lr, beta2;
  std::int64_t warmup_steps, micro_batch, batch_tokens;
};

// GPT-2's own rates were never published. Those of GPT-3 (arXiv 2005.14165, table 2.1 and appendix B) at the
// same sizes are what everybody takes: batches of half a million tokens (a million from 1.3B on), betas 0.9
// and 0.95, decay 0.1, clipping at 1, a warm-up of 375 million tokens, a cosine to a tenth. TinyLlama's are its
// own (arXiv 2401.02385): 2,000 steps of two million tokens. Micro-batches fit a GPU of 80 GB.
constexpr std::array kTraining{
    PresetTraining{"gpt2-124m", 6e-4, 0.95, 715, 32, 1 << 19},
    PresetTraining{"gpt2-350m", 3e-4, 0.95, 715, 16, 1 << 19},
    PresetTraining{"gpt2-774m", 2.5e-4, 0.95, 715, 8, 1 << 19},
    PresetTraining{"gpt2-1558m", 2e-4, 0.95, 358, 8, 1 << 20},
    PresetTraining{"tinyllama-1.1b", 4e-4, 0.95, 2000, 8, 1 << 21},
    PresetTraining{"llama-1.2b", 4e-4, 0.95, 2000, 8, 1 << 21},
};

// On CPUs, where these are trained, 2:4 weights gain time and cost the least of the quick recipes.
constexpr std::array<std::string_view, 4> kSparse{"tiny", "tiny-llama", "small", "small-llama"};
// What `twill tune decay recipe=fst --steps 120` chooses for tiny (mu 0.84). FST's own 6e-5 is that of a model and
// a schedule a hundred times as large: its masks thrash here (mu 1.06).
constexpr double kDecay = 6e-4;

}  // namespace

void apply_training(std::string_view preset, RunConfig& config) {
  const auto found = std::ranges::find(kTraining, preset, &PresetTraining::name);
  if (found == kTraining.end()) return;
  config.optimizer.lr = found->lr;
  config.optimizer.beta2 = found->beta2;
  config.schedule.warmup_steps = found->warmup_steps;
  config.train.micro_batch = found->micro_batch;
  config.train.batch_tokens = found->batch_tokens;
}

RecipeConfig recipe_of_preset(std::string_view preset) {
  if (std::ranges::find(kSparse, preset) == kSparse.end()) return {};
  RecipeConfig recipe = read_recipe("fst");
  recipe.execution = Execution::kFastest;
  for (PhaseConfig& phase : recipe.phase)
    if (phase.decay.on != DecayOn::kNone) phase.decay.lambda = kDecay;
  return recipe;
}

void fit_batch(RunConfig& config) {
  const std::int64_t micro = config.micro_batch_tokens();
  if (config.train.batch_tokens == 0 || micro <= 0) return;
  config.train.batch_tokens =
      std::max<std::int64_t>(1, (config.train.batch_tokens + micro / 2) / micro) * micro;
}

}  // namespace twill
