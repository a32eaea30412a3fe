// SPDX-License-Identifier: Apache-2.0
#include "train/run/foreign_words.h"

#include <set>

#include <gtest/gtest.h>

#include "io/config/toml_config.h"
#include "io/error_text.h"
#include "io/temp_dir.h"
#include "train/run/run_config.h"

namespace twill {
namespace {

std::string setting_error(const std::string& setting) {
  return error_text([&] { read_run_config("", {setting}); });
}

TEST(ForeignWords, EachStandsOnceAndLeadsToAKeyThatExists) {
  const std::string keys = "\n" + describe_fields(RunConfig());
  std::set<std::string_view> seen;
  for (const ForeignWord& foreign : foreign_words()) {
    EXPECT_TRUE(seen.insert(foreign.word).second) << foreign.word;
    const bool is_key = keys.find("\n  " + std::string(foreign.key) + " ") != keys.npos ||
                        keys.find("[" + std::string(foreign.key) + "]") != keys.npos;
    EXPECT_TRUE(is_key) << foreign.word << " leads to " << foreign.key;
    EXPECT_EQ(key_meant_by(foreign.word).find(foreign.key), 0U) << foreign.word;
  }
}

TEST(ForeignWords, AnyCaseAndDashes) {
  EXPECT_EQ(key_meant_by("Learning-Rate"), "optimizer.lr");
  EXPECT_EQ(key_meant_by("N_LAYER"), "model.layers");
  EXPECT_EQ(key_meant_by("train"), "");
  EXPECT_EQ(key_meant_by(""), "");
}

TEST(ForeignWords, MessagesOfTheConfigNameTheKey) {
  const auto message = [](const std::string& setting, const std::string& meant) {
    const std::string word = setting.substr(0, setting.find('='));
    EXPECT_EQ(setting_error(setting),
              "command line: " + setting + ": unknown key '" + word + "'; Twill's is " + meant);
  };
  message("learning_rate=1e-3", "optimizer.lr");
  message("lr=1e-3", "optimizer.lr");
  message("batch_size=4",
          "train.micro_batch (sequences at once; train.batch_tokens: the tokens of an optimizer "
          "step)");
  message("n_layer=2", "model.layers");
  message("n_embd=64", "model.width");
  message("n_head=2", "model.heads");
  message("max_iters=100", "train.steps");
  message("block_size=64", "model.context");
  message("weight_decay=0.1", "optimizer.weight_decay");
  message("dropout=0.1", "model.dropout");
  EXPECT_EQ(setting_error("model.n_layer=2"),
            "command line: model.n_layer=2: unknown key 'n_layer' in [model]; Twill's is "
            "model.layers");
  const TempDir folder;
  const std::string file = folder.write("a.toml", "[train]\nlearning_rate = 1e-3\n");
  EXPECT_EQ(error_text([&] { read_run_config(file, {}); }),
            file + ": line 2: unknown key 'learning_rate' in [train]; Twill's is optimizer.lr");
}

TEST(ForeignWords, AMisspeltKeyOfTheTableComesFirst) {
  EXPECT_EQ(
      setting_error("optimizer.weight_decai=1"),
      "command line: optimizer.weight_decai=1: unknown key 'weight_decai' in [optimizer]; did "
      "you mean 'weight_decay'?");
  EXPECT_EQ(setting_error("qwertz=1"),
            "command line: qwertz=1: unknown key 'qwertz'; `twill config --help` lists the keys");
}

TEST(ForeignWords, DataIsShortForTheTrainingData) {
  EXPECT_EQ(read_run_config("", {"data=book.txt"}).data.train,
            std::vector<std::string>{"book.txt"});
  EXPECT_EQ(read_run_config("", {"data=[\"a\", \"b\"]"}).data.train,
            (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace twill
