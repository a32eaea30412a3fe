// SPDX-License-Identifier: Apache-2.0
// The papers' checks that need a trainer: schedules, what a topology update leaves alone, which
// weights are evaluated, and dense training behind a sparse phase.
#include <cmath>

#include <gtest/gtest.h>

#include "models/decoder.h"
#include "papers/recipe_run.h"
#include "train/model/evaluation.h"

namespace twill {
namespace {

bool is_sparse_now(const TinyTrainer& tiny) {
  const auto& layers = tiny.trainer.sparsity().layers();
  const bool first = static_cast<bool>(layers.front().seam->route.forward.operand);
  for (const SparseLayer& layer : layers) {
    EXPECT_EQ(static_cast<bool>(layer.seam->route.forward.operand), first);
    EXPECT_EQ(static_cast<bool>(layer.seam->route.dgrad.operand), first);
    EXPECT_EQ(layer.seam->route.wgrad.sample, first ? WgradSample::kMvue : WgradSample::kDense);
  }
  return first;
}

std::vector<float> values_of(const View& view) {
  return {view.as<float>(), view.as<float>() + view.num_elements()};
}

// The same training, bit for bit, in a trainer that never heard of sparsity.
void expect_plain_from_here(TinyTrainer& sparse, const Settings& settings, int steps) {
  TinyTrainer plain(settings + Settings{"recipe=dense"});
  copy_training_state(sparse, plain);
  EXPECT_EQ(plain.losses(steps), sparse.losses(steps));
  EXPECT_EQ(plain.weights() == sparse.weights(), true);
  for (std::size_t i = 0; i < plain.trainer.optimizer().slots().size(); ++i) {
    const Optimizer::Slot& a = plain.trainer.optimizer().slots()[i];
    const Optimizer::Slot& b = sparse.trainer.optimizer().slots()[i];
    EXPECT_EQ(values_of(a.m) == values_of(b.m), true) << a.parameter->name;
    EXPECT_EQ(values_of(a.v) == values_of(b.v), true) << a.parameter->name;
  }
}

const Settings kPlain{"model.layers=1",      "train.steps=24",        "optimizer.lr=1e-2",
                      "train.micro_batch=2", "train.batch_tokens=64", "schedule.warmup_steps=2",
                      "eval.windows=2"};

TEST(Fst_F1, SparseForFiveSixthsOfTheSteps) {
  TinyTrainer tiny(busy("fst"));
  for (int step = 0; step < 24; ++step) {
    tiny.trainer.step();
    EXPECT_EQ(is_sparse_now(tiny), step < 20) << step;
  }
}

// One step, and what its first moments must be: beta1 m + (1 - beta1) (clip g + pull), where g is
// the gradient in `raw`, a trainer without decay in the same place.
void expect_moments(TinyTrainer& tiny, TinyTrainer& raw, double lambda) {
  std::vector<std::vector<float>> weights, moments;
  const auto& layers = tiny.trainer.sparsity().layers();
  for (const SparseLayer& layer : layers) {
    weights.push_back(values_of(layer.seam->weight->value));
    moments.push_back(values_of(tiny.trainer.optimizer().slot_of(*layer.seam->weight).m));
  }
  const double norm = raw.trainer.step().grad_norm;
  const double clip = tiny.config.optimizer.clip / norm, beta1 = tiny.config.optimizer.beta1;
  EXPECT_EQ(tiny.trainer.step().grad_norm, norm);
  EXPECT_LT(clip, 0.01);
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const std::vector<float> g =
        values_of(raw.trainer.sparsity().layers()[k].seam->weight->gradient);
    const std::vector<float> m =
        values_of(tiny.trainer.optimizer().slot_of(*layers[k].seam->weight).m);
    for (std::size_t i = 0; i < m.size(); ++i) {
      const bool kept = layers[k].mask.as<std::uint8_t>()[i] != 0;
      const double step = clip * g[i], pull = kept ? 0.0 : lambda * weights[k][i];
      const double want = beta1 * moments[k][i] + (1.0 - beta1) * (step + pull);
      const double size = std::abs(moments[k][i]) + std::abs(step) + std::abs(pull);
      ASSERT_NEAR(m[i], want, 4e-7 * size + 1e-30) << layers[k].seam->name << ' ' << i;
    }
  }
}

// The pull is not clipped, and it ends with the sparse phase.
TEST(Fst_D1, TrainerPullsAfterClipping) {
  const Settings settings = busy("fst") + Settings{"optimizer.clip=1e-3"};
  TinyTrainer tiny(settings + Settings{"recipe.phase.0.decay.lambda=0.25"});
  TinyTrainer raw(settings +
                  Settings{"recipe.phase.0.decay.on=none", "recipe.phase.0.decay.lambda=0"});
  expect_moments(tiny, raw, 0.25);
  tiny.losses(20);  // into the dense phase
  copy_training_state(tiny, raw);
  expect_moments(tiny, raw, 0.0);
}

TEST(Fst_F2, RefreshesAtSteps0And40And80) {
  const Settings settings{"recipe=fst",        "model.layers=1",      "train.steps=120",
                          "optimizer.lr=1e-2", "train.micro_batch=2", "schedule.warmup_steps=0",
                          "eval.windows=2"};
  TinyTrainer plain(settings), accumulating(settings + Settings{"train.batch_tokens=96"});
  for (TinyTrainer* tiny : {&plain, &accumulating}) {
    std::string before;
    for (int step = 0; step < 84; ++step) {
      tiny->trainer.step();
      if (step % 7 == 0) tiny->trainer.evaluate();
      EXPECT_EQ(masks_of(*tiny) != before, step % 40 == 0) << step;
      before = masks_of(*tiny);
    }
  }
}

TEST(Fst_F3, ResumedAfterTheSwitchItStaysDense) {
  const TempDir dir;
  TinyTrainer tiny(busy("fst")), resumed(busy("fst"));
  tiny.losses(22);
  load_checkpoint(save_checkpoint(dir.path(), tiny.trainer, 1), resumed.trainer);
  EXPECT_FALSE(is_sparse_now(resumed));
  EXPECT_EQ(resumed.losses(2), tiny.losses(2));
  EXPECT_FALSE(is_sparse_now(resumed));
}

TEST(Fst_F4, ResumedInMidPhaseIsBitIdentical) {
  const TempDir dir;
  TinyTrainer tiny(busy("fst")), resumed(busy("fst"));
  tiny.losses(10);  // two steps behind a refresh
  load_checkpoint(save_checkpoint(dir.path(), tiny.trainer, 1), resumed.trainer);
  EXPECT_TRUE(is_sparse_now(resumed));
  EXPECT_EQ(masks_of(resumed) == masks_of(tiny), true);
  EXPECT_EQ(resumed.losses(6), tiny.losses(6));
  EXPECT_EQ(state_of(resumed) == state_of(tiny), true);
}

TEST(Fst_F5, DenseFinishIsPlainTraining) {
  TinyTrainer tiny(busy("fst"));
  tiny.losses(20);
  expect_plain_from_here(tiny, kPlain, 4);
}

TEST(Mst_M5, TrainerKeepsPrunedWeightsAtZero) {
  for (const char* recipe : {"static", "set", "mst"}) {
    TinyTrainer tiny(busy(recipe) + Settings{"optimizer.weight_decay=0.5"});
    for (int step = 0; step < 24; ++step) {
      tiny.trainer.step();
      for (const SparseLayer& layer : tiny.trainer.sparsity().layers())
        for (std::int64_t i = 0; i < layer.num_weights(); ++i)
          if (layer.mask.as<std::uint8_t>()[i] == 0) {
            ASSERT_EQ(layer.weight().as<float>()[i], 0.0f) << layer.seam->name << ' ' << i;
          }
    }
  }
}

TEST(Mst_M7, AnUpdateChangesNothingButThroughTheMask) {
  TinyTrainer tiny(busy("mst"));
  int updates = 0;
  for (int step = 0; step < 24; ++step) {
    std::vector<std::vector<float>> before;
    for (const Parameter& parameter : tiny.trainer.builder().parameters())
      before.push_back(values_of(parameter.value));
    const std::int64_t applied = tiny.trainer.progress().updates;
    if (!tiny.trainer.step().topology_update) continue;
    ++updates;
    EXPECT_EQ(tiny.trainer.progress().updates, applied) << "Adam's count stands still";
    for (std::size_t p = 0; p < before.size(); ++p) {
      const Parameter& parameter = tiny.trainer.builder().parameters()[p];
      for (const SparseLayer& layer : tiny.trainer.sparsity().layers())
        for (std::int64_t i = 0; layer.seam->weight == &parameter && i < layer.num_weights(); ++i)
          if (layer.mask.as<std::uint8_t>()[i] == 0) before[p][static_cast<std::size_t>(i)] = 0.0f;
      EXPECT_EQ(values_of(parameter.value) == before[p], true) << parameter.name;
    }
  }
  EXPECT_GE(updates, 8);
}

TEST(Mst_M8, DenseGradientOfAnUpdateIsThatOfThePlainNetwork) {
  TinyTrainer tiny(busy("rigl"));
  tiny.losses(5);
  TinyTrainer plain(kPlain);
  copy_training_state(tiny, plain);
  plain.trainer.step();
  ASSERT_TRUE(tiny.trainer.step().topology_update);
  for (std::size_t p = 0; p < plain.trainer.builder().parameters().size(); ++p) {
    const Parameter& parameter = plain.trainer.builder().parameters()[p];
    EXPECT_EQ(
        values_of(parameter.gradient) == values_of(tiny.trainer.builder().parameters()[p].gradient),
        true)
        << parameter.name;
  }
}

TEST(Mst_M9, RestoredItIsPlainTraining) {
  const Settings longer{"train.steps=61"};  // no end falls on the grid of updates
  TinyTrainer tiny(busy("mst") + longer + Settings{"recipe.phase.2.topology.stairs=4"});
  const auto all_ones = [](const std::string& masks) {
    return std::ranges::all_of(masks, [](char c) { return c == 1; });
  };
  while (tiny.trainer.sparsity().phase_index() < 2) tiny.trainer.step();
  EXPECT_FALSE(all_ones(masks_of(tiny)));
  while (!all_ones(masks_of(tiny)) && tiny.trainer.progress().step < 61) tiny.trainer.step();
  const std::int64_t left = 61 - tiny.trainer.progress().step;
  ASSERT_GE(left, 4);
  EXPECT_EQ(tiny.trainer.sparsity().topology().density(), 1.0);
  expect_plain_from_here(tiny, kPlain + longer, static_cast<int>(left));
}

// Stairs and phases that the grid of updates does not meet: every run comes back to dense.
TEST(Mst_M9, RestorationNeverMissesItsLastStair) {
  for (const char* steps : {"24", "25", "37", "50", "61"})
    for (const char* interval : {"2", "3", "5"}) {
      TinyTrainer tiny(busy("mst") +
                       Settings{std::string("train.steps=") + steps,
                                std::string("recipe.phase.0.topology.interval=") + interval,
                                std::string("recipe.phase.1.topology.interval=") + interval,
                                std::string("recipe.phase.2.topology.interval=") + interval,
                                "recipe.phase.2.topology.churn=0"});
      tiny.losses(std::stoi(steps));
      const std::string masks = masks_of(tiny);
      EXPECT_EQ(masks.find('\0'), std::string::npos) << steps << " steps, every " << interval;
    }
}

TEST(Mst_M12, ResumedInMidPhaseMasksAndLossesAreTheSame) {
  const TempDir dir;
  TinyTrainer tiny(busy("mst")), resumed(busy("mst"));
  tiny.losses(10);
  load_checkpoint(save_checkpoint(dir.path(), tiny.trainer, 1), resumed.trainer);
  for (int step = 10; step < 24; ++step) {
    EXPECT_EQ(resumed.trainer.step().loss, tiny.trainer.step().loss);
    EXPECT_EQ(masks_of(resumed) == masks_of(tiny), true) << step;
  }
}

std::vector<double> scales_of(const TinyTrainer& tiny) {
  std::vector<double> scales;
  for (const SparseLayer& layer : tiny.trainer.sparsity().layers()) scales.push_back(layer.beta);
  return scales;
}

TEST(Sste_S2, TrainingAndCheckpointsKeepBeta) {
  const TempDir dir;
  TinyTrainer tiny(busy("s-ste")), resumed(busy("s-ste"));
  tiny.losses(1);
  const std::vector<double> scales = scales_of(tiny);
  for (const double beta : scales) EXPECT_NEAR(beta, 1.48, 0.1);  // Gaussian initial weights
  tiny.losses(20);
  EXPECT_EQ(scales_of(tiny), scales);
  load_checkpoint(save_checkpoint(dir.path(), tiny.trainer, 1), resumed.trainer);
  EXPECT_EQ(scales_of(resumed), scales);
}

// At most two of four neighbours in a row.
bool is_24(const View& weight) {
  const float* w = weight.as<float>();
  for (std::int64_t i = 0; i < weight.num_elements(); i += 4)
    if (std::count(w + i, w + i + 4, 0.0f) < 2) return false;
  return true;
}

TEST(Sste_S9, EvaluationAndExportTakeTheProjectedWeights) {
  const TempDir dir;
  for (const char* recipe : {"s-ste", "ste", "fst"}) {
    TinyTrainer tiny(busy(recipe));
    tiny.losses(10);
    const std::string path = save_checkpoint(dir / recipe, tiny.trainer, 1);
    Builder builder(tiny.context, {.training = false, .max_batch = 2, .max_time = 16});
    Decoder model(builder, load_model_config(path));
    builder.commit();
    load_weights(path, builder);
    for (const LinearSeam& seam : builder.linear_seams())
      EXPECT_EQ(is_24(seam.weight->value), seam.family == LayerFamily::kFfn) << seam.name;
    EXPECT_EQ(mean_loss(tiny.context, model, *tiny.data.validation, {2, 16}),
              tiny.trainer.evaluate())
        << recipe;
    EXPECT_NE(tiny.trainer.evaluate_master(), tiny.trainer.evaluate()) << recipe;
  }
}

}  // namespace
}  // namespace twill
