// SPDX-License-Identifier: Apache-2.0
// A run carries its tokenizer with it.
#include <gtest/gtest.h>

#include "data/byte_tokenizer.h"
#include "data/test_tokenizer.h"
#include "io/error_text.h"
#include "io/temp_dir.h"
#include "train/run/run_folder.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

TEST(RunTokenizer, IsCopiedIntoTheRun) {
  const TempDir dir;
  const RunConfig config = tiny_config({"run.dir=" + dir.path(), "run.name=a"});
  RunFolder folder = RunFolder::create(config);
  const ByteTokenizer bytes;
  save_run_tokenizer(folder, &bytes);
  EXPECT_FALSE(std::filesystem::exists(folder.tokenizer_dir())) << "byte has no files";
  EXPECT_EQ(open_run_tokenizer(folder, config)->name(), "byte");
  const WordTokenizer words;
  for (int again = 0; again < 2; ++again) save_run_tokenizer(folder, &words);
  EXPECT_EQ(content_of(folder.tokenizer_dir() + "/words.txt"), "any\n");
  // No real tokenizer lies there, so opening it must fail: the copy goes before the config.
  EXPECT_NE(error_text([&] { open_run_tokenizer(folder, config); }), "(no error)");
}

TEST(RunTokenizer, AnotherOneIsRefusedOnResume) {
  const TempDir dir;
  const std::atomic<bool> never{false};
  TrainingListener listener;
  TrainRequest request;
  request.overrides = tiny_settings({"run.dir=" + dir.path(), "run.name=a"});
  run_training(request, listener, never);
  request.overrides = {"run.dir=" + dir.path(), "data.tokenizer=other"};
  request.resume = "a";
  EXPECT_NE(error_text([&] { run_training(request, listener, never); }), "(no error)");
}

}  // namespace
}  // namespace twill
