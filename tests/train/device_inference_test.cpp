// SPDX-License-Identifier: Apache-2.0
// A model that is asked and made to write on a device: the bits of the same kernels on the host.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/byte_tokenizer.h"
#include "eval/likelihood.h"
#include "models/decoder.h"
#include "models/initialise.h"
#include "models/tiny_models.h"
#include "support/fake_device.h"
#include "train/model/sampler.h"
#include "train/step/host_masters.h"

namespace twill {
namespace {

constexpr std::int64_t kTime = 24;

struct Reader {
  Reader(const KernelTable& kernels, bool decoding)
      : table(kernels),
        builder(context, {.training = false,
                          .max_batch = decoding ? 1 : 2,
                          .max_time = kTime,
                          .decoding = decoding}),
        model(builder, config()) {
    builder.commit();
    HostMasters masters(builder);
    initialise(builder.parameters(), 3);
    masters.upload();
  }
  static ModelConfig config() {
    ModelConfig config = tiny_llama();
    config.vocab = 256;
    config.context = kTime;
    return resolved(config, 256);
  }

  KernelTable table;
  Context context{table, 1};
  Builder builder;
  Decoder model;
};

// Longer than the window: the cache is filled, used and filled anew.
std::string written(const KernelTable& table, bool cached) {
  Reader reader(table, cached);
  const ByteTokenizer tokenizer;
  std::string text;
  sample(reader.context, reader.model, tokenizer, "Once upon",
         {.tokens = 2 * kTime, .temperature = 1.0}, [&](std::string_view piece) {
           text += piece;
           return true;
         });
  return text;
}

TEST(DeviceInference, WritesTheSameText) {
  for (const bool cached : {false, true}) {
    const std::string text = written(reference_table(), cached);
    EXPECT_FALSE(text.empty());
    EXPECT_EQ(written(fake_device_table(), cached), text);
  }
}

std::vector<Likelihood> asked(const KernelTable& table) {
  Reader reader(table, false);
  const std::vector<LikelihoodRequest> requests{{.tokens = {10, 65, 66, 67, 68}, .scored = 3},
                                                {.tokens = {10, 100, 101}, .scored = 1},
                                                {.tokens = {10, 9, 8, 7, 6, 5, 4}, .scored = 6}};
  return LikelihoodScorer(reader.context, reader.model, 2).run(requests);
}

TEST(DeviceInference, FindsTextsEquallyLikely) {
  const std::vector<Likelihood> want = asked(reference_table()), got = asked(fake_device_table());
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i].log_likelihood, want[i].log_likelihood) << i;
    EXPECT_EQ(got[i].greedy, want[i].greedy) << i;
    EXPECT_LT(want[i].log_likelihood, 0.0);
  }
}

}  // namespace
}  // namespace twill
