// SPDX-License-Identifier: Apache-2.0
// The activation of an FFN whose input matrix runs packed: part of the product, and the same bits as
// behind a dense one.
#include <gtest/gtest.h>

#include "nn/feed_forward.h"
#include "ops/packing/packed_matrix.h"
#include "ops/transfer.h"
#include "support/tables.h"

namespace twill {
namespace {

constexpr std::int64_t kWidth = 12, kHidden = 20, kMostTokens = 40;

struct OpCounter : OpObserver {
  void before(std::string_view op) override {
    packed += op == "times_packed";
    activations += op == "activation_forward";
  }
  void after(std::string_view, const OpWork&) override {}
  void gemm(const GemmArgs&) override { ++dense; }
  int packed = 0, activations = 0, dense = 0;
};

// Reference kernels: a sum over kept entries has the bits of one over all, because what is not kept
// adds zeros.
class PackedInputFfn {
 public:
  PackedInputFfn(Activation activation, bool bias)
      : context_(reference_table(), 1),
        builder_(context_, {.training = false, .max_batch = 1, .max_time = kMostTokens}),
        layer_(builder_, "ffn",
               {.width = kWidth, .hidden = kHidden, .activation = activation, .bias = bias}) {
    builder_.commit();
    for (Parameter& parameter : builder_.parameters()) {
      Values values = random_.normal(parameter.value.num_elements());
      for (std::size_t i = 0; i < values.size(); i += 3) values[i] = 0.0;
      const std::vector<float> floats(values.begin(), values.end());
      copy_in(context_, parameter.value, floats.data());
    }
    builder_.refresh_operands();
    LinearSeam& seam = input_seam();
    const ConstView weight = seam.forward_operand().data;
    const PackedShape shape{
        .rows = weight.rows(), .cols = weight.cols(), .max_kept = weight.num_elements()};
    storage_ = Tensor(DType::kU8, {packed_bytes(context_, shape)}, context_.memory());
    pack_matrix(context_, {.dense = weight, .shape = shape, .storage = storage_.view()});
    packed_ = {.shape = shape, .storage = storage_.view(), .kept = shape.max_kept};
  }

  LinearSeam& input_seam() { return builder_.linear_seams().front(); }

  Values forward(std::int64_t tokens, bool packed, OpCounter& counter) {
    input_seam().route.forward.packed = packed ? without_zeros(packed_) : Operand();
    Random random;
    const Buffer x(random.normal(tokens * kWidth), DType::kF32);
    const Buffer residual(random.normal(tokens * kWidth), DType::kF32);
    const Buffer out(rubbish(tokens * kWidth), DType::kF32);
    const Shape shape{tokens, kWidth};
    context_.observer = &counter;
    layer_.forward({.context = context_, .batch = 1, .time = tokens}, x.view(shape),
                   residual.view(shape), out.view(shape));
    context_.observer = nullptr;
    return out.values();
  }

 private:
  Context context_;
  Builder builder_;
  FeedForward layer_;
  Random random_;
  Tensor storage_;
  PackedMatrix packed_;
};

class PackedActivationOfFfn : public SeededTest {};

TEST_F(PackedActivationOfFfn, HasTheBitsOfADenseOne) {
  for (const Activation activation :
       {Activation::kGelu, Activation::kGeluTanh, Activation::kRelu2, Activation::kSwiglu,
        Activation::kGeglu, Activation::kGegluTanh})
    for (const bool bias : {true, false})
      for (const std::int64_t tokens : {kFewestPackedTokens - 1, kMostTokens}) {
        PackedInputFfn ffn(activation, bias);
        OpCounter dense, packed;
        const Values want = ffn.forward(tokens, /*packed=*/false, dense);
        EXPECT_TRUE(expect_same_bits("out", ffn.forward(tokens, /*packed=*/true, packed), want))
            << "activation " << static_cast<int>(activation) << ", " << tokens << " tokens";
        EXPECT_EQ(dense.packed, 0);
        EXPECT_EQ(dense.dense, 2);
        EXPECT_EQ(dense.activations, 1);
        const int is_packed = tokens >= kFewestPackedTokens ? 1 : 0;
        EXPECT_EQ(packed.packed, is_packed);
        EXPECT_EQ(packed.dense, 2 - is_packed);
        EXPECT_EQ(packed.activations, 1 - is_packed);
      }
}

}  // namespace
}  // namespace twill
