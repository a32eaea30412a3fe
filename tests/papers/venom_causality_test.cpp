// SPDX-License-Identifier: Apache-2.0
// venom.md 7, V10: a block of V tokens shares its columns, so a token sees its neighbours, later ones
// too. The probe changes the last token and looks at what the model says before it.
#include <cmath>
#include <iostream>

#include <gtest/gtest.h>

#include "models/decoder.h"
#include "models/initialise.h"
#include "models/tiny_models.h"
#include "papers/broken.h"
#include "support/tables.h"

namespace twill {
namespace {

constexpr std::int64_t kTime = 24, kBlock = 8;

struct Probe {
  explicit Probe(const KernelTable& table)
      : context(table, 1),
        builder(context, {.max_time = kTime, .selects_activations = true}),
        model(builder, config()) {
    builder.commit();
    initialise(builder.parameters(), 3);
    for (FfnSeam& seam : builder.ffn_seams()) {
      seam.v = kBlock;
      seam.m = 16;
    }
  }

  static ModelConfig config() {
    ModelConfig config = tiny_gpt();
    config.ffn.activation = "relu2";
    config.context = kTime;
    return resolved(config, config.vocab);
  }
  void select(bool selects) {
    for (FfnSeam& seam : builder.ffn_seams()) seam.selects = selects;
  }

  // The loss of a fixed target at one position.
  double loss_at(std::int64_t position, std::int32_t last_token, bool as_trained) {
    std::vector<std::int32_t> tokens, targets(kTime, -1);
    for (std::int32_t t = 0; t < kTime; ++t) tokens.push_back((t * t + 3 * t) % 11);
    tokens.back() = last_token;
    targets[static_cast<std::size_t>(position)] = 4;
    const Pass pass{.context = context, .time = kTime, .as_trained = as_trained};
    return model.loss(pass, token_batch(pass.batch, tokens, targets)).mean;
  }
  // Share of the earlier positions that a change of the last token changes.
  double share(bool as_trained) {
    int changed = 0;
    for (std::int64_t t = 0; t + 1 < kTime; ++t)
      changed += loss_at(t, 1, as_trained) != loss_at(t, 6, as_trained);
    return changed / static_cast<double>(kTime - 1);
  }

  Context context;
  Builder builder;
  Decoder model;
};

TEST(Venom_V10, OnlySelectionLooksAhead) {
  for (const KernelTable* table : paper_tables()) {
    Probe probe(*table);
    EXPECT_EQ(probe.share(true), 0.0) << table->name;  // the dense phase
    probe.select(true);
    EXPECT_EQ(probe.share(false), 0.0) << table->name;  // evaluation of a sparse phase
    const double share = probe.share(true);
    // The block of the last token, and through no other path: at most its seven neighbours.
    EXPECT_GT(share, 0.0) << table->name;
    EXPECT_LE(share, (kBlock - 1) / static_cast<double>(kTime - 1)) << table->name;
    std::cout << table->name << ": a changed token changes " << 100.0 * share
              << " % of the positions before it\n";
    for (FfnSeam& seam : probe.builder.ffn_seams()) seam.v = 1;
    EXPECT_EQ(probe.share(true), 0.0) << table->name;  // a token alone sees nobody
  }
}

}  // namespace
}  // namespace twill
