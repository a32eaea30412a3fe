// SPDX-License-Identifier: Apache-2.0
// llama2.c writes each kind of tensor for all layers, then the next kind. Its rotary partners are
// neighbouring rows of wq and wk; a negative vocabulary of the first format says that the
// classifier is not the embedding.
#include "exchange/bin_header.h"

namespace twill {
namespace {

constexpr std::uint32_t kMagic = 0x616b3432;  // "ak42"

class TensorLayout {
 public:
  explicit TensorLayout(const ModelConfig& config)
      : c_(config), head_(config.width / config.heads) {}

  void add(const std::string& name, Shape shape) {
    all_.push_back({.parameter = name, .shape = shape});
  }
  void skip(std::int64_t numbers) { add("", {numbers}); }

  // The same tensor of every layer.
  void layers(const std::string& name, Shape shape, std::int64_t first_row = 0,
              std::int64_t pair_rows_of = 0) {
    for (std::int64_t layer = 0; layer < c_.layers; ++layer)
      all_.push_back({.parameter = fmt::format("blocks.{}.{}", layer, name),
                      .shape = shape,
                      .first_row = first_row,
                      .pair_rows_of = pair_rows_of});
  }

  void embedding() { add("embedding.tokens.weight", {c_.vocab, c_.width}); }
  void attention() {
    const std::int64_t query = c_.heads * head_, key = c_.kv_heads * head_;
    layers("attention.qkv.weight", {query, c_.width}, 0, head_);
    layers("attention.qkv.weight", {key, c_.width}, query, head_);
    layers("attention.qkv.weight", {key, c_.width}, query + key);
    layers("attention.output.weight", {c_.width, query});
  }
  // w1 is the gate, w2 the way back, w3 the value.
  void feed_forward() {
    layers("ffn.input.weight", {c_.ffn.width, c_.width}, c_.ffn.width);
    layers("ffn.output.weight", {c_.width, c_.ffn.width});
    layers("ffn.input.weight", {c_.ffn.width, c_.width});
  }
  void classifier() {
    if (!c_.tied_head) add("head.weight", {c_.vocab, c_.width});
  }

  // Frequencies stand between the norm and the classifier: two tables of context x head/2.
  std::vector<Placement> first_format() {
    embedding();
    layers("attention_norm.weight", {c_.width});
    attention();
    layers("ffn_norm.weight", {c_.width});
    feed_forward();
    add("final_norm.weight", {c_.width});
    skip(2 * c_.context * (head_ / 2));
    classifier();
    return std::move(all_);
  }
  std::vector<Placement> version_1() {
    layers("attention_norm.weight", {c_.width});
    layers("ffn_norm.weight", {c_.width});
    add("final_norm.weight", {c_.width});
    embedding();
    attention();
    feed_forward();
    classifier();
    return std::move(all_);
  }

 private:
  const ModelConfig& c_;
  std::int64_t head_;
  std::vector<Placement> all_;
};

// Seven int32 from `first` on.
ModelConfig read_sizes(std::string_view head, std::int64_t first) {
  ModelConfig config;
  config.family = "llama";
  config.norm = "rms";
  config.positions = "rotary";
  config.bias = false;
  config.ffn.activation = "swiglu";
  config.width = size_at(head, first, "dim", kMaxWidth);
  config.ffn.width = size_at(head, first + 1, "hidden_dim", kMaxFfn);
  config.layers = size_at(head, first + 2, "n_layers", kMaxLayers);
  config.heads = size_at(head, first + 3, "n_heads", kMaxHeads);
  config.kv_heads = size_at(head, first + 4, "n_kv_heads", kMaxHeads);
  const std::int64_t vocab = int32_at(head, first + 5);
  config.tied_head = vocab > 0;
  config.vocab = vocab < 0 ? -vocab : vocab;
  require(config.vocab >= 1 && config.vocab <= kMaxVocab,
          "header: vocab_size = {}, expected 1 to {}", vocab, kMaxVocab);
  config.context = size_at(head, first + 6, "seq_len", kMaxContext);
  return resolved(config, config.vocab);
}

BinModel read_version_1(std::string_view head) {
  constexpr std::int64_t kHeader = 256, kSharedClassifier = 36;
  require(std::ssize(head) >= kHeader, "truncated: {} bytes are too few for a header of llama2.c",
          head.size());
  const std::int32_t version = int32_at(head, 1);
  require(version != 2,
          "header: version 2 of llama2.c is quantised to int8; export the model from its "
          "checkpoint as version 1");
  require(version == 1, "header: version {} of llama2.c, expected 1", version);
  ModelConfig config = read_sizes(head, 2);
  config.tied_head = head[kSharedClassifier] != 0;
  BinModel model{.format = "llama2.c", .config = config, .first_byte = kHeader, .tensors = {}};
  model.tensors = TensorLayout(model.config).version_1();
  return model;
}

BinModel read_first_format(std::string_view head) {
  constexpr std::int64_t kHeader = 28;
  require(std::ssize(head) >= kHeader, "truncated: {} bytes are too few for a header of llama2.c",
          head.size());
  BinModel model{
      .format = "llama2.c", .config = read_sizes(head, 0), .first_byte = kHeader, .tensors = {}};
  model.tensors = TensorLayout(model.config).first_format();
  return model;
}

}  // namespace

BinModel parse_llama2c_header(std::string_view head, std::int64_t file_bytes) {
  const bool has_magic =
      head.size() >= 8 && static_cast<std::uint32_t>(int32_at(head, 0)) == kMagic;
  BinModel model = has_magic ? read_version_1(head) : read_first_format(head);
  require_exact_size(model, file_bytes);
  return model;
}

}  // namespace twill
