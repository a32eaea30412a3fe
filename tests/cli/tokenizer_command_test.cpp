// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "cli/process.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

const std::string kSmall = TWILL_SOURCE_DIR "/tests/golden/small_bpe";

class TokenizerCommand : public testing::Test {
 protected:
  ProcessResult twill(const std::vector<std::string>& arguments) const {
    ProcessOptions options;
    options.folder = dir_.path();
    return run_twill(arguments, options);
  }
  TempDir dir_;
};

TEST_F(TokenizerCommand, EncodesAndDecodes) {
  dir_.write("text", "Hi <|endoftext|>");
  const ProcessResult bytes = twill({"tokenizer", "encode", "--tokenizer", "byte", "text"});
  EXPECT_TRUE(bytes.out.starts_with("72 105 32 60 ")) << bytes.out;
  const ProcessResult ids = twill({"tokenizer", "encode", "--tokenizer", kSmall, "text"});
  ASSERT_EQ(ids.exit_code, 0) << ids.err;
  EXPECT_TRUE(ids.out.ends_with(" 999\n")) << ids.out;
  dir_.write("ids", ids.out);
  EXPECT_EQ(twill({"tokenizer", "decode", "--tokenizer", kSmall, "ids"}).out, "Hi <|endoftext|>");
  dir_.write("empty", "");
  EXPECT_EQ(twill({"tokenizer", "encode", "--tokenizer", kSmall, "empty"}).out, "\n");
}

TEST_F(TokenizerCommand, TrainsWhatItThenReads) {
  dir_.write("text", "the cat and the hat and the bat that sat\n");
  const ProcessResult train =
      twill({"tokenizer", "train", "text", "--out", "new", "--vocab", "270", "--threads", "2"});
  ASSERT_EQ(train.exit_code, 0) << train.err;
  dir_.write("more", "that hat");
  const ProcessResult ids = twill({"tokenizer", "encode", "--tokenizer", "new", "more"});
  ASSERT_EQ(ids.exit_code, 0) << ids.err;
  dir_.write("ids", ids.out);
  EXPECT_EQ(twill({"tokenizer", "decode", "--tokenizer", "new", "ids"}).out, "that hat");
  EXPECT_LT(ids.out.size(), 20u);
}

TEST_F(TokenizerCommand, BadInputGetsOneLine) {
  const auto expect_line = [&](const ProcessResult& result, const std::string& part) {
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
  };
  dir_.write("ids", "72 x5");
  expect_line(twill({"tokenizer", "decode", "--tokenizer", "byte", "ids"}),
              "word 2 of the ids is no id: 'x5'; expected numbers divided by spaces");
  dir_.write("ids", "99999999999");
  expect_line(twill({"tokenizer", "decode", "--tokenizer", "byte", "ids"}),
              "word 1 of the ids is no id: '99999999999'");
  dir_.write("ids", "256");
  expect_line(twill({"tokenizer", "decode", "--tokenizer", "byte", "ids"}),
              "id 256 is outside 0 to 255");
  expect_line(twill({"tokenizer", "encode", "--tokenizer", "byte", "nowhere"}),
              "cannot read nowhere: No such file or directory");
  expect_line(twill({"tokenizer", "encode", "--tokenizer", "nothing", "ids"}),
              "unknown tokenizer 'nothing', expected \"byte\", or a folder or file with");
}

TEST_F(TokenizerCommand, BenchMeasures) {
  dir_.write("text", std::string(100000, 'a') + " b");
  const ProcessResult bench =
      twill({"bench", "tokenizer", "text", "--tokenizer", kSmall, "--steps", "1", "--json", "o"});
  ASSERT_EQ(bench.exit_code, 0) << bench.err;
  EXPECT_NE(content_of(dir_ / "o").find("\"one_thread_mb_s\":"), std::string::npos);
  EXPECT_NE(twill({"bench", "tokenizer", "text"}).err.find("needs a text and --tokenizer"),
            std::string::npos);
}

}  // namespace
}  // namespace twill
