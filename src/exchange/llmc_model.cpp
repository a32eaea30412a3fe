// SPDX-License-Identifier: Apache-2.0
// llm.c writes each kind of tensor for all layers, then the next kind. Matrices are (out, in), as
// ours; the vocabulary is padded.
#include "exchange/bin_header.h"

namespace twill {
namespace {

// One of those that every layer has.
struct LayerTensor {
  const char* name;
  std::int64_t rows;
  std::int64_t columns;  // 0: a vector
};

std::vector<Placement> placements(const ModelConfig& c) {
  std::vector<Placement> all;
  const auto add = [&](const std::string& name, std::int64_t rows, std::int64_t columns) {
    all.push_back({.parameter = name, .shape = columns > 0 ? Shape{rows, columns} : Shape{rows}});
  };
  add("embedding.tokens.weight", c.vocab, c.width);
  add("embedding.positions.weight", c.context, c.width);
  const std::int64_t C = c.width;
  for (const LayerTensor& tensor :
       {LayerTensor{"attention_norm.weight", C, 0}, LayerTensor{"attention_norm.bias", C, 0},
        LayerTensor{"attention.qkv.weight", 3 * C, C}, LayerTensor{"attention.qkv.bias", 3 * C, 0},
        LayerTensor{"attention.output.weight", C, C}, LayerTensor{"attention.output.bias", C, 0},
        LayerTensor{"ffn_norm.weight", C, 0}, LayerTensor{"ffn_norm.bias", C, 0},
        LayerTensor{"ffn.input.weight", 4 * C, C}, LayerTensor{"ffn.input.bias", 4 * C, 0},
        LayerTensor{"ffn.output.weight", C, 4 * C}, LayerTensor{"ffn.output.bias", C, 0}})
    for (std::int64_t layer = 0; layer < c.layers; ++layer)
      add(fmt::format("blocks.{}.{}", layer, tensor.name), tensor.rows, tensor.columns);
  add("final_norm.weight", C, 0);
  add("final_norm.bias", C, 0);
  return all;
}

}  // namespace

BinModel parse_llmc_model_header(std::string_view head, std::int64_t file_bytes) {
  constexpr std::int64_t kHeader = 1024, kMagic = 20240326;
  require(std::ssize(head) >= kHeader, "truncated: {} bytes are too few for a header of llm.c",
          head.size());
  require(int32_at(head, 0) == kMagic, "header: magic {}, expected {}", int32_at(head, 0), kMagic);
  const std::int32_t version = int32_at(head, 1);
  require(version == 3 || version == 5,
          "header: version {} of llm.c, expected 3 (fp32) or 5 (bf16)", version);
  ModelConfig config;
  config.context = size_at(head, 2, "max_seq_len", kMaxContext);
  const std::int64_t vocab = size_at(head, 3, "vocab_size", kMaxVocab);
  config.layers = size_at(head, 4, "num_layers", kMaxLayers);
  config.heads = size_at(head, 5, "num_heads", kMaxHeads);
  config.width = size_at(head, 6, "channels", kMaxWidth);
  config.vocab = size_at(head, 7, "padded_vocab_size", kMaxVocab);
  require(vocab <= config.vocab, "header: vocab_size = {} is larger than padded_vocab_size = {}",
          vocab, config.vocab);
  BinModel model{.format = "llm.c",
                 .config = resolved(config, vocab),
                 .numbers = version == 3 ? FloatFormat::kF32 : FloatFormat::kBf16,
                 .first_byte = kHeader,
                 .tensors = {}};
  model.tensors = placements(model.config);
  require_exact_size(model, file_bytes);
  return model;
}

}  // namespace twill
