// SPDX-License-Identifier: Apache-2.0
#include "exchange/bin_model.h"

#include <cstring>

#include <gtest/gtest.h>

#include "base/bf16.h"
#include "exchange/memory_model.h"
#include "io/temp_dir.h"
#include "support/expect_error.h"
#include "support/seeds.h"

namespace twill {
namespace {

std::string bytes_of(const std::vector<std::int32_t>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * 4};
}

std::string padded(std::string bytes, std::size_t size) {
  bytes.resize(size);
  return bytes;
}

// 0, 1, 2, … as f32, or as bf16.
std::string counted(std::int64_t count, bool bf16 = false) {
  std::string bytes;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i);
    const Bf16 half = to_bf16(value);
    if (bf16)
      bytes.append(reinterpret_cast<const char*>(&half), 2);
    else
      bytes.append(reinterpret_cast<const char*>(&value), 4);
  }
  return bytes;
}

const float* values(MemoryModel& model, const char* name) {
  return parameter_named(model.builder, name).value.as<float>();
}

// Two layers of width 4, one head, context 3, vocabulary 5 padded to 6.
std::vector<std::int32_t> llmc_header(std::int32_t version = 3) {
  std::vector<std::int32_t> header(256);
  const std::int32_t front[] = {20240326, version, 3, 5, 2, 1, 4, 6};
  std::ranges::copy(front, header.begin());
  return header;
}
constexpr std::int64_t kLlmcNumbers =
    6 * 4 + 3 * 4 + 2 * (4 * 4 + 12 * 4 + 12 + 4 * 4 + 4 + 16 * 4 + 16 + 4 * 16 + 4) + 2 * 4;

TEST(LlmcModel, TensorsOfOneKindStandTogether) {
  const TempDir dir;
  const std::string path = dir.write("m.bin", bytes_of(llmc_header()) + counted(kLlmcNumbers));
  const std::unique_ptr<ModelSource> source = open_model_source(path);
  EXPECT_EQ(source->format(), "llm.c");
  EXPECT_EQ(source->config().vocab, 6);
  EXPECT_EQ(source->config().context, 3);
  EXPECT_EQ(num_parameters(source->config()), kLlmcNumbers);
  MemoryModel model(*source);
  EXPECT_EQ(values(model, "embedding.positions.weight")[0], 24.0f);
  EXPECT_EQ(values(model, "blocks.0.attention_norm.weight")[0], 36.0f);
  EXPECT_EQ(values(model, "blocks.1.attention_norm.weight")[0], 40.0f);
  EXPECT_EQ(values(model, "blocks.0.attention_norm.bias")[0], 44.0f);
  EXPECT_EQ(values(model, "blocks.1.attention.qkv.weight")[5], 52.0f + 48.0f + 5.0f);
  EXPECT_EQ(values(model, "final_norm.bias")[3], static_cast<float>(kLlmcNumbers - 1));
}

TEST(LlmcModel, ReadsBf16) {
  const TempDir dir;
  const std::string path =
      dir.write("m.bin", bytes_of(llmc_header(5)) + counted(kLlmcNumbers, /*bf16=*/true));
  MemoryModel model(path);
  EXPECT_EQ(values(model, "blocks.0.attention_norm.bias")[1], 45.0f);
  EXPECT_EQ(open_model_source(path)->dtype(), "BF16");
}

TEST(LlmcModel, Refusals) {
  const auto refuse = [](std::size_t index, std::int32_t value, std::string_view text) {
    std::vector<std::int32_t> header = llmc_header();
    header[index] = value;
    expect_error([&] { parse_llmc_model_header(bytes_of(header), 1024 + 4 * kLlmcNumbers); }, text);
  };
  refuse(0, 7, "header: magic 7, expected 20240326");
  refuse(1, 1, "header: version 1 of llm.c, expected 3 (fp32) or 5 (bf16)");
  refuse(2, 0, "header: max_seq_len = 0, expected 1 to");
  refuse(3, 7, "vocab_size = 7 is larger than padded_vocab_size = 6");
  refuse(4, 1001, "num_layers = 1001, expected 1 to 1000");
  refuse(5, 3, "must be a multiple of model.heads = 3");
  refuse(6, -4, "channels = -4");
  refuse(7, 2'000'000'000, "padded_vocab_size = 2000000000");
  refuse(7, 7, "the header describes a file of");
  refuse(4, 1000, "the header describes a file of");
  expect_error([] { parse_llmc_model_header("abc", 3); }, "truncated: 3 bytes are too few");
}

// dim 4, hidden 3, 2 layers, 2 heads, 1 kv head, vocabulary 5, seq_len 7.
std::vector<std::int32_t> llama2c_sizes(std::int32_t vocab = 5) {
  return {4, 3, 2, 2, 1, vocab, 7};
}
constexpr std::int64_t kLayer = 4 + 16 + 8 + 8 + 16 + 4 + 12 + 12 + 12;
constexpr std::int64_t kLlamaNumbers = 20 + 2 * kLayer + 4 + 2 * 7;

TEST(Llama2cModel, RowsOfARotaryPairArePutHalfAHeadApart) {
  // Four rows per head would be needed to see it: dim 8, 2 heads.
  const std::vector<std::int32_t> sizes{8, 3, 1, 2, 1, 5, 7};
  const std::int64_t numbers = 40 + 8 + 64 + 32 + 32 + 64 + 8 + 24 + 24 + 24 + 8 + 2 * 7 * 2;
  const TempDir dir;
  const std::string path = dir.write("m.bin", bytes_of(sizes) + counted(numbers));
  MemoryModel model(path);
  const float* qkv = values(model, "blocks.0.attention.qkv.weight");
  // Rows of the file in the order of ours; wq begins at 48, wk at 112, wv at 144.
  const float rows[] = {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 13, 14, 15};
  for (int row = 0; row < 16; ++row) EXPECT_EQ(qkv[row * 8], 48.0f + 8.0f * rows[row]) << row;
}

TEST(Llama2cModel, GateAndValueAreJoined) {
  const TempDir dir;
  const std::string path = dir.write("m.bin", bytes_of(llama2c_sizes()) + counted(kLlamaNumbers));
  const std::unique_ptr<ModelSource> source = open_model_source(path);
  EXPECT_EQ(source->format(), "llama2.c");
  EXPECT_TRUE(source->config().tied_head);
  EXPECT_EQ(source->config().kv_heads, 1);
  MemoryModel model(*source);
  const float w1 = 20 + 2 * (4 + 16 + 8 + 8 + 16 + 4), w2 = w1 + 24, w3 = w2 + 24;
  EXPECT_EQ(values(model, "blocks.0.ffn.input.weight")[0], w3);
  EXPECT_EQ(values(model, "blocks.0.ffn.input.weight")[12], w1);
  EXPECT_EQ(values(model, "blocks.1.ffn.output.weight")[0], w2 + 12);
  EXPECT_EQ(values(model, "final_norm.weight")[0], w3 + 24);
}

TEST(Llama2cModel, ANegativeVocabularyHasAClassifierOfItsOwn) {
  const TempDir dir;
  const std::string path =
      dir.write("m.bin", bytes_of(llama2c_sizes(-5)) + counted(kLlamaNumbers + 20));
  MemoryModel model(path);
  EXPECT_EQ(values(model, "head.weight")[0], static_cast<float>(kLlamaNumbers));
}

TEST(Llama2cModel, Version1HasTheNormsInFront) {
  std::vector<std::int32_t> header{0x616b3432, 1};
  for (const std::int32_t size : llama2c_sizes()) header.push_back(size);
  std::string head = padded(bytes_of(header), 256);
  const std::int64_t numbers = 2 * kLayer + 4 + 20;
  const TempDir dir;
  MemoryModel untied(dir.write("m.bin", head + counted(numbers + 20)));
  EXPECT_EQ(values(untied, "blocks.0.ffn_norm.weight")[0], 8.0f);
  EXPECT_EQ(values(untied, "embedding.tokens.weight")[0], 20.0f);
  EXPECT_EQ(values(untied, "head.weight")[0], static_cast<float>(numbers));
  head[36] = 1;
  MemoryModel tied(dir.write("m.bin", head + counted(numbers)));
  EXPECT_TRUE(tied.model.config().tied_head);

  head[4] = 2;
  expect_error([&] { parse_llama2c_header(head, 1000); },
               "version 2 of llama2.c is quantised to int8; export the model from its checkpoint");
  head[4] = 3;
  expect_error([&] { parse_llama2c_header(head, 1000); }, "version 3 of llama2.c, expected 1");
  expect_error([&] { parse_llama2c_header(head.substr(0, 100), 100); }, "truncated: 100 bytes");
}

TEST(Llama2cModel, Refusals) {
  const auto refuse = [](std::size_t index, std::int32_t value, std::string_view text) {
    std::vector<std::int32_t> sizes = llama2c_sizes();
    sizes[index] = value;
    expect_error([&] { parse_llama2c_header(bytes_of(sizes), 28 + 4 * kLlamaNumbers); }, text);
  };
  refuse(0, 0, "header: dim = 0, expected 1 to 65536");
  refuse(1, -1, "header: hidden_dim = -1");
  refuse(2, 1 << 30, "header: n_layers = 1073741824, expected 1 to 1000");
  refuse(3, 3, "model.width = 4 must be a multiple of model.heads = 3");
  refuse(3, 4, "rotary positions need an even head width");
  refuse(4, 5, "must be a multiple of model.kv_heads = 5");
  refuse(5, 0, "header: vocab_size = 0");
  refuse(5, std::numeric_limits<std::int32_t>::min(), "header: vocab_size = -2147483648");
  refuse(6, 8, "the header describes a file of");
  expect_error([] { parse_llama2c_header("", 0); }, "truncated: 0 bytes are too few");
}

// The size that an error of require_exact_size() names; 0: another error.
std::int64_t described_bytes(const std::string& error) {
  constexpr std::string_view kText = "the header describes a file of ";
  const std::size_t at = error.find(kText);
  return at == std::string::npos ? 0 : std::stoll(error.substr(at + kText.size()));
}

std::int64_t filled_bytes(const BinModel& model) {
  std::int64_t bytes = model.first_byte;
  for (const Placement& tensor : model.tensors) {
    EXPECT_GT(tensor.shape.num_elements(), 0) << tensor.parameter;
    bytes += tensor.shape.num_elements() * size_of(model.numbers);
  }
  return bytes;
}

// No header, however wild, does more than throw a twill::Error: either it is refused for what it
// says, or a file of just the size that it describes is taken, and the tensors fill that.
TEST(BinModel, RandomHeadersAreRefusedOrFillTheirFile) {
  SCOPED_TRACE(seed_note());
  Random random;
  const auto count_taken = [&](const auto& parse, std::vector<std::int32_t> front) {
    int taken = 0;
    for (int round = 0; round < 1000; ++round) {
      std::vector<std::int32_t> header = front;
      for (const double value : random.integers(256, -3, round % 8 == 0 ? 2'000'000'000 : 12))
        header.push_back(static_cast<std::int32_t>(value));
      const std::string head = bytes_of(header).substr(0, kBinHeaderBytes);
      std::int64_t bytes = 1;  // no file is as short, so that this is refused
      try {
        parse(head, bytes);
        ADD_FAILURE() << "a file of one byte was taken";
      } catch (const Error& error) {
        bytes = described_bytes(error.what());
      }
      if (bytes == 0) continue;
      ++taken;
      EXPECT_EQ(filled_bytes(parse(head, bytes)), bytes);
      EXPECT_THROW(parse(head, bytes - 1), Error);
    }
    return taken;
  };
  // About one header in twenty of llm.c and one in a hundred of llama2.c hangs together.
  EXPECT_GT(count_taken(parse_llmc_model_header, {20240326, 3}), 0);
  EXPECT_GT(count_taken(parse_llmc_model_header, {20240326, 5}), 0);
  EXPECT_GT(count_taken(parse_llama2c_header, {}), 0);
}

TEST(BinModel, OtherFilesAreToldWhatTheyAre) {
  const TempDir dir;
  const auto refuse = [&](const std::string& content, std::string_view text) {
    const std::string path = dir.write("m.bin", content);
    expect_error([&] { open_model_source(path); }, path);
    expect_error([&] { open_model_source(path); }, text);
  };
  refuse("PK\x03\x04 and so on", "save_pretrained(DIR, safe_serialization=True)");
  refuse("\x80\x02}q\x01", "a pickled file can run any code");
  dir.write("old.pt", "(dp0\n.");
  expect_error([&] { open_model_source(dir / "old.pt"); },
               "old.pt: a pickled file can run any code");
  refuse(bytes_of({20240520, 1, 7}), "holds tokens of llm.c, not a model");
  refuse("hello", "truncated: 5 bytes are too few for a header of llama2.c");
  refuse("", "truncated: 0 bytes");
  refuse(bytes_of(llmc_header()) + "abc", "the header describes a file of");
  // dim = 640 begins like a pickle, and is none.
  refuse(bytes_of({640, 3, 2, 2, 1, 5, 7}), "the header describes a file of");
  expect_error([&] { open_model_source(dir / "gone.bin"); }, "gone.bin: No such file or directory");
}

}  // namespace
}  // namespace twill
