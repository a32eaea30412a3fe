// SPDX-License-Identifier: Apache-2.0
// Writes small good examples of every format, for the fuzzer to start from:
//
//   twill_fuzz_seeds FOLDER      makes FOLDER/<target>/<example>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "data/shards/manifest.h"
#include "data/shards/shard_header.h"
#include "data/tokenizers/bpe/train_bpe.h"
#include "exchange/hf_config.h"
#include "io/atomic_file.h"
#include "io/config/toml_config.h"
#include "io/tensors/safetensors.h"
#include "models/presets.h"
#include "train/run/run_config.h"

namespace twill {
namespace {

class Seeds {
 public:
  explicit Seeds(std::string folder) : folder_(std::move(folder)) {}

  void add(const std::string& target, const std::string& name, std::string_view bytes) {
    write_file(path(target, name), bytes);
  }
  std::string path(const std::string& target, const std::string& name) {
    create_directories(folder_ + "/" + target);
    return folder_ + "/" + target + "/" + name;
  }

 private:
  std::string folder_;
};

void add_json(Seeds& seeds) {
  seeds.add("json_value", "kinds",
            R"({"a": [1, -2.5e3, true, null, "\u00e9\ud83d\ude00"], "b": {}})");
}

void add_safetensors(Seeds& seeds) {
  const std::vector<float> values(12, 0.5f);
  const std::vector<TensorEntry> tensors = {{"a", view_of(values.data(), Shape{3, 4})},
                                            {"b", view_of(values.data(), Shape{})}};
  write_safetensors(seeds.path("safetensors", "two"), tensors, {{"format", "pt"}});
}

void add_toml(Seeds& seeds) {
  RunConfig config;
  config.optimizer.group.resize(1);
  seeds.add("toml_config", "every_key", write_toml(config));
}

// Numbers as a header holds them.
template <class Number>
void append(std::string& bytes, std::initializer_list<Number> numbers) {
  for (const Number number : numbers)
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void add_text(Seeds& seeds) {
  const std::string lines = "{\"text\": \"a\"}\n{\"text\": \"b c\", \"id\": 1}\n";
  const std::string text = "One document.\n<|endoftext|>\nAnother.\n<|endoftext|>\n";
  seeds.add("documents", "lines", lines);
  seeds.add("documents", "text", text);
  seeds.add("encode", "text", text + "The caf\u00e9's 1,999 chairs:\t\r\n\n  there!\xff\xfe");
  seeds.add("task_line", "choices", R"({"query": "Is it", "choices": ["so", "not"], "label": 1})");
  seeds.add("task_line", "text", R"({"text": "the last word"})");
  // The same two lines, packed by gzip, xz and zstd.
  constexpr unsigned char kGzip[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02,
                                     0x03, 0xab, 0x56, 0x2a, 0x49, 0xad, 0x28, 0x51, 0xb2,
                                     0x52, 0x50, 0x4a, 0x54, 0xaa, 0xe5, 0x4a, 0xe2, 0x02,
                                     0x00, 0xe3, 0xb1, 0x71, 0xcf, 0x10, 0x00, 0x00, 0x00};
  constexpr unsigned char kXz[] = {
      0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, 0x02, 0x00,
      0x21, 0x01, 0x1c, 0x00, 0x00, 0x00, 0x10, 0xcf, 0x58, 0xcc, 0x01, 0x00, 0x0f, 0x7b,
      0x22, 0x74, 0x65, 0x78, 0x74, 0x22, 0x3a, 0x20, 0x22, 0x61, 0x22, 0x7d, 0x0a, 0x62,
      0x0a, 0x00, 0xe3, 0xb1, 0x71, 0xcf, 0x00, 0x01, 0x24, 0x10, 0xe9, 0x44, 0xd9, 0xcc,
      0x90, 0x42, 0x99, 0x0d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a};
  constexpr unsigned char kZstd[] = {0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x81, 0x00, 0x00, 0x7b,
                                     0x22, 0x74, 0x65, 0x78, 0x74, 0x22, 0x3a, 0x20, 0x22, 0x61,
                                     0x22, 0x7d, 0x0a, 0x62, 0x0a, 0xfb, 0xc9, 0x6b, 0xd5};
  const auto add_packed = [&](const char* name, const auto& packed) {
    seeds.add("byte_source", name,
              std::string_view(reinterpret_cast<const char*>(packed), sizeof packed));
  };
  add_packed("gzip", kGzip);
  add_packed("xz", kXz);
  add_packed("zstd", kZstd);
}

void add_shards(Seeds& seeds) {
  const std::string choose_llmc("\0\0", 2), choose_bin_tok("\1\0", 2), choose_megatron("\2\0", 2);
  std::string tokens;
  append<std::uint16_t>(tokens, {7, 8, 9, 10});
  seeds.add("token_shards", "llmc", choose_llmc + llmc_header(2, 4) + tokens);
  std::string bin_tok = "BIN.TOK\n";
  append<std::int32_t>(bin_tok, {2, 4, 2, 100, 0});
  bin_tok.resize(1024 + 8);
  seeds.add("token_shards", "bin_tok", choose_bin_tok + bin_tok);
  std::string index("MMIDIDX\0\0", 9);
  append<std::uint64_t>(index, {1});
  index += '\x08';  // uint16
  append<std::uint64_t>(index, {2, 3});
  append<std::int32_t>(index, {3, 2});
  append<std::int64_t>(index, {0, 6, 0, 1, 2});
  seeds.add("token_shards", "megatron", choose_megatron + index);

  Manifest manifest;
  manifest.arguments.texts = {"a.txt"};
  manifest.arguments.tokenizer = "byte";
  manifest.sources = {{"a.txt", 10, "00", 1}};
  manifest.train = {{"train_000001.bin", 10, 1, 99, "00"}};
  seeds.add("manifest", "small", write_manifest(manifest));
}

void add_tokenizers(Seeds& seeds) {
  const auto bpe = train_bpe({{" the", 9}, {" there", 5}, {"then", 4}}, {.vocab = 262});
  std::string vocab, merges;
  for (const TokenizerFile& file : bpe->files()) {
    if (file.name == "tokenizer.json") seeds.add("tokenizer_json", "bpe", file.content);
    if (file.name == "vocab.json") vocab = file.content;
    if (file.name == "merges.txt") merges = file.content;
  }
  seeds.add("bpe_files", "gpt2", '\0' + vocab + '\0' + merges);
  seeds.add("bpe_files", "tiktoken", "\1IQ== 0\nIg== 1\nISI= 2\n");
  const char* const pieces = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n##re\ncaf\n##e\n!\n";
  seeds.add("wordpiece_vocab", "small", pieces);
  seeds.add("tokenizer_json", "wordpiece",
            R"({"model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1, "##b": 2}}})");
  seeds.add(
      "tokenizer_json", "llama",
      R"({"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]},
            "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "fuse_unk": true,
            "vocab": {"<unk>": 0, "<s>": 1, "</s>": 2, "<0x41>": 3, "\u2581": 4, "t": 5, "\u2581t": 6},
            "merges": ["\u2581 t"]}})");
  std::string llama;
  append<std::int32_t>(llama, {5});
  for (const std::string piece : {"<unk>", "<s>", "</s>", "<0x41>", " ", "t", " t"}) {
    append<float>(llama, {-1.0f});
    append<std::int32_t>(llama, {static_cast<std::int32_t>(piece.size())});
    llama += piece;
  }
  seeds.add("llama2c_tokenizer", "small", llama);
}

void add_models(Seeds& seeds) {
  for (const char* preset : {"gpt2-124m", "tinyllama-1.1b"}) {
    const ModelConfig config = resolved(*find_preset(preset), 256);
    seeds.add("hf_config", preset, to_json(hf_config(config, "float32", {.begin = 1, .end = 2})));
  }
  seeds.add(
      "safetensors_index", "two",
      R"({"metadata": {"total_size": 8}, "weight_map": {"a": "model-00001-of-00002.safetensors",
            "b": "model-00002-of-00002.safetensors"}})");
  std::string llmc(1, '\1');
  append<std::int32_t>(llmc, {20'240'326, 3, 8, 16, 1, 1, 4, 16});
  llmc.resize(1 + 1024);
  seeds.add("model_bin", "llmc", llmc);
  std::string llama(1, '\0');
  append<std::int32_t>(llama, {4, 8, 1, 2, 1, 16, 8});
  seeds.add("model_bin", "llama2c", llama + std::string(1024, '\0'));
}

}  // namespace
}  // namespace twill

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: twill_fuzz_seeds FOLDER\n", stderr);
    return 2;
  }
  twill::Seeds seeds(argv[1]);
  twill::add_json(seeds);
  twill::add_safetensors(seeds);
  twill::add_toml(seeds);
  twill::add_text(seeds);
  twill::add_shards(seeds);
  twill::add_tokenizers(seeds);
  twill::add_models(seeds);
  return 0;
}
