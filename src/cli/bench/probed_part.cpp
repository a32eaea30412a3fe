// SPDX-License-Identifier: Apache-2.0
#include "cli/bench/probed_part.h"

#include "models/block_options.h"
#include "ops/transfer.h"

namespace twill::cli {
namespace {

Block::Options plain_block_options(const ModelConfig& model) {
  Block::Options options = block_options(model, 0);
  options.attention.dropout = options.ffn.dropout = 0.0;
  return options;
}

class FfnPart final : public ProbedPart {
 public:
  FfnPart(Builder& builder, const ModelConfig& model)
      : ffn_(builder, "blocks.0.ffn", plain_block_options(model).ffn) {
    for (View* view : {&x_, &residual_, &out_, &dout_, &dx_})
      builder.activation("bench.stream", *view, {builder.max_tokens(), model.width});
  }

  void fill(const Filler& filler) override {
    filler(x_, 1);  // what a norm leaves
    filler(residual_, 2);
    filler(dout_, 3);
  }
  void forward(const Pass& pass) const override { ffn_.forward(pass, x_, residual_, out_); }
  void backward(const Pass& pass) const override { ffn_.backward(pass, x_, dout_, dx_); }

 private:
  FeedForward ffn_;
  View x_, residual_, out_, dout_, dx_;  // (tokens, width)
};

class BlockPart final : public ProbedPart {
 public:
  BlockPart(Builder& builder, const ModelConfig& model)
      : block_(builder, "blocks.0", plain_block_options(model), x_) {
    for (View* view : {&x_, &dout_, &gradient_})
      builder.activation("bench.stream", *view, {builder.max_tokens(), model.width});
  }

  void fill(const Filler& filler) override {
    filler(x_, 1);
    filler(dout_, 3);
  }
  void forward(const Pass& pass) const override { block_.forward(pass); }
  // A block turns the gradient of its result into that of its input where it lies. A step begins with
  // the same one each time: what came out of hundreds would be Inf. The copy is 4 bytes for every
  // element of the stream in bf16, under half a percent of a block's time.
  void backward(const Pass& pass) const override {
    copy(pass.context, gradient_, dout_);
    block_.backward(pass, gradient_, {});
  }

 private:
  View x_, dout_, gradient_;  // (tokens, width)
  Block block_;
};

}  // namespace

const char* name_of(PartKind kind) { return kind == PartKind::kFfn ? "FFN" : "block"; }

std::unique_ptr<ProbedPart> make_part(PartKind kind, Builder& builder, const ModelConfig& model) {
  if (kind == PartKind::kFfn) return std::make_unique<FfnPart>(builder, model);
  return std::make_unique<BlockPart>(builder, model);
}

}  // namespace twill::cli
