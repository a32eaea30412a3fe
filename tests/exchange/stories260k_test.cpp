// SPDX-License-Identifier: Apache-2.0
// A model that somebody else trained, with the ids and logits of somebody else's program.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "data/byte_tokenizer.h"
#include "exchange/hf_export.h"
#include "exchange/memory_model.h"
#include "io/atomic_file.h"
#include "io/json/json_value.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

class Stories260K : public testing::Test {
 protected:
  void SetUp() override {
    const char* given = std::getenv("TWILL_DATA");
    folder_ = std::string(given ? given : TWILL_SOURCE_DIR "/../shared/data") +
              "/models/stories260K/stories260K";
    if (!std::filesystem::exists(folder_ + ".bin")) GTEST_SKIP() << "TWILL_DATA has no stories260K";
    golden_ = parse_json_value(read_file(folder_ + ".golden.json"));
    for (const JsonValue& id : *golden_.find("tokens")->array())
      ids_.push_back(static_cast<std::int32_t>(*id.integer()));
  }

  std::string folder_;
  JsonValue golden_;
  std::vector<std::int32_t> ids_;
};

TEST_F(Stories260K, BothFilesHoldTheSameModel) {
  const std::unique_ptr<ModelSource> bin = open_model_source(folder_ + ".bin");
  const std::unique_ptr<ModelSource> hf = open_model_source(folder_ + ".safetensors");
  EXPECT_EQ(bin->config().kv_heads, 4);
  EXPECT_EQ(bin->config().ffn.width, 172);
  EXPECT_TRUE(bin->config().tied_head);
  EXPECT_EQ(MemoryModel(*bin).weights(), MemoryModel(*hf).weights());
}

TEST_F(Stories260K, GivesTheGoldenIdsAndLogits) {
  ASSERT_EQ(ids_.size(), 201u);
  const std::unique_ptr<ModelSource> source = open_model_source(folder_ + ".bin");
  MemoryModel model(*source, 201);
  double nll = 0.0;
  for (std::size_t count = 1; count < ids_.size(); ++count) {
    const std::vector<float> logits = model.logits(std::span(ids_).first(count));
    const auto best = std::ranges::max_element(logits) - logits.begin();
    ASSERT_EQ(best, ids_[count]) << "behind token " << count - 1;
    double sum = 0.0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    nll += std::log(sum) - static_cast<double>(logits[static_cast<std::size_t>(ids_[count])]);
  }
  EXPECT_NEAR(nll / 200.0, 0.473418, 1e-6);

  const auto expect_logits = [&](std::size_t count, const char* key) {
    const std::vector<float> logits = model.logits(std::span(ids_).first(count));
    const JsonArray& golden = *golden_.find(key)->array();
    for (std::size_t i = 0; i < golden.size(); ++i)
      EXPECT_NEAR(static_cast<double>(logits[i]), *golden[i].number(), 1e-4) << key << " " << i;
  };
  expect_logits(1, "logits_pos0_first16_fp64");
  // The last position that predicts something: the one in front of the last id.
  expect_logits(200, "logits_last_first16_fp64");
}

TEST_F(Stories260K, ExportedAndImportedAgainItIsBitEqual) {
  const std::unique_ptr<ModelSource> source = open_model_source(folder_ + ".bin");
  MemoryModel model(*source);
  const TempDir dir;
  export_hf(model.builder, source->config(), ByteTokenizer(), {.folder = dir / "out"});
  EXPECT_EQ(MemoryModel(dir / "out").weights(), model.weights());
}

}  // namespace
}  // namespace twill
