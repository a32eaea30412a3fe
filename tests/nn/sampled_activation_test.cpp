// SPDX-License-Identifier: Apache-2.0
// The gradients of an FFN do not depend on whether its backend takes the activation's gradient together
// with its sample: on a reference backend that does so as if by one kernel, and on the GPU.
#include <gtest/gtest.h>

#include "nn/feed_forward.h"
#include "ops/numbers/column_sum.h"
#include "ops/packing/activation_sample.h"
#include "ops/selection/mvue24.h"
#include "ops/transfer.h"
#include "support/tables.h"

namespace twill {
namespace {

int fused_calls = 0;

bool fuse_all(const ActivationSampleArgs&) { return true; }

void sample_in_one_kernel(const ActivationSampleArgs& args, const Device& device, Queue& queue) {
  ++fused_calls;
  const KernelTable& kernels = reference_table();
  const PackSampleArgs& pack = args.pack;
  const View dx = args.activation.dx;
  kernels.activation_backward(args.activation, device, queue);
  if (pack.sum)
    kernels.column_sum({.x = dx, .sum = pack.sum, .accumulate = pack.accumulate}, device, queue);
  kernels.mvue24({.x = dx,
                  .y = pack.sample,
                  .law = pack.law,
                  .seed = pack.seed,
                  .step = pack.step,
                  .stream = pack.stream},
                 device, queue);
  kernels.pack_matrix(
      {.dense = pack.sample, .shape = pack.shape, .storage = pack.storage, .transpose = true},
      device, queue);
}

struct FfnCase {
  Activation activation = Activation::kSwiglu;
  bool bias = true;
  bool accumulate = false;
};

// An FFN whose matrices sample and pack, on a table that may change between passes.
class SamplingFfn {
 public:
  SamplingFfn(const KernelTable& table, DType dtype, const FfnCase& of)
      : of_(of),
        context_(table, 1),
        builder_(context_, {.dtype = dtype,
                            .training = true,
                            .max_batch = kBatch,
                            .max_time = kTime,
                            .samples_gradients = true,
                            .packs_samples = true}),
        layer_(builder_, "ffn",
               {.width = 32, .hidden = 64, .activation = of.activation, .bias = of.bias}),
        x_(tensor(dtype)),
        residual_(tensor(dtype)),
        out_(tensor(dtype)),
        dout_(tensor(dtype)),
        dx_(tensor(dtype)) {
    builder_.commit();
    for (LinearSeam& seam : builder_.linear_seams()) {
      seam.route.wgrad.sample = WgradSample::kMvue;
      seam.route.wgrad.packs_sample = true;
    }
    for (Parameter& parameter : builder_.parameters()) fill(parameter.value, 0.2);
    builder_.refresh_operands();
    for (Tensor* tensor : {&x_, &residual_, &dout_}) fill(tensor->view(), 1.0);
  }

  // dx and all gradients of parameters, one behind the other.
  Values gradients() {
    for (Parameter& parameter : builder_.parameters()) {
      const std::vector<float> before(index_of(parameter.gradient), 0.25f);
      copy_in(context_, parameter.gradient, before.data());
    }
    const Pass pass{.context = context_,
                    .batch = kBatch,
                    .time = kTime,
                    .training = true,
                    .seed = 7,
                    .micro_step = 3,
                    .as_trained = true,
                    .accumulate = of_.accumulate};
    layer_.forward(pass, x_.view(), residual_.view(), out_.view());
    layer_.backward(pass, x_.view(), dout_.view(), dx_.view());
    const std::vector<float> dx = host_floats(context_, dx_.view());
    Values values(dx.begin(), dx.end());
    for (const Parameter& parameter : builder_.parameters()) {
      const std::vector<float> more = host_floats(context_, parameter.gradient);
      values.insert(values.end(), more.begin(), more.end());
    }
    return values;
  }

 private:
  static constexpr std::int64_t kBatch = 2, kTime = 40;

  static std::size_t index_of(ConstView view) {
    return static_cast<std::size_t>(view.num_elements());
  }
  Tensor tensor(DType dtype) const {
    return Tensor(dtype, {kBatch * kTime, 32}, context_.memory());
  }
  void fill(View view, double spread) {
    const Values values = random_.normal(view.num_elements(), spread);
    const std::vector<float> wide(values.begin(), values.end());
    std::vector<Bf16> narrow;
    for (const float value : wide) narrow.push_back(to_bf16(value));
    const void* from = wide.data();
    if (view.dtype() == DType::kBf16) from = narrow.data();
    copy_in(context_, view, from);
    wait(context_);
  }

  FfnCase of_;
  Context context_;
  Builder builder_;
  FeedForward layer_;
  Tensor x_, residual_, out_, dout_, dx_;
  Random random_;
};

class SampledActivationOfFfn : public SeededTest {};

constexpr Activation kFfnKinds[] = {Activation::kGelu,  Activation::kGeluTanh,
                                    Activation::kRelu2, Activation::kSwiglu,
                                    Activation::kGeglu, Activation::kGegluTanh};

TEST_F(SampledActivationOfFfn, ChangesNoGradient) {
  for (const Activation activation : kFfnKinds)
    for (const bool bias : {true, false})
      for (const bool accumulate : {true, false}) {
        KernelTable table = reference_table();
        SamplingFfn ffn(table, DType::kF32, {activation, bias, accumulate});
        const Values apart = ffn.gradients();
        table.fuses_activation_sample = fuse_all;
        table.activation_sample = sample_in_one_kernel;
        fused_calls = 0;
        EXPECT_TRUE(expect_same_bits("gradients", ffn.gradients(), apart))
            << "activation " << static_cast<int>(activation) << ", bias " << bias;
        // gelu_new's gradient is an epilogue of the product before.
        EXPECT_EQ(fused_calls, activation == Activation::kGeluTanh ? 0 : 1);
      }
}

TEST_F(SampledActivationOfFfn, ChangesNoGradientOnTheGpu) {
  Device device;
  if (cuda_table() == nullptr || !cuda_table()->find_device(0, device).usable)
    GTEST_SKIP() << "no GPU";
  for (const Activation activation : kFfnKinds)
    for (const bool bias : {true, false}) {
      KernelTable table = *cuda_table();
      SamplingFfn ffn(table, DType::kBf16, {.activation = activation, .bias = bias});
      table.activation_sample = [](const ActivationSampleArgs& args, const Device& where,
                                   Queue& queue) {
        ++fused_calls;
        cuda_table()->activation_sample(args, where, queue);
      };
      ffn.gradients();  // products choose their kernels when first seen
      fused_calls = 0;
      const Values together = ffn.gradients();
      EXPECT_EQ(fused_calls, activation == Activation::kGeluTanh ? 0 : 1);
      table.fuses_activation_sample = nullptr;
      ffn.gradients();
      EXPECT_TRUE(expect_same_bits("gradients", together, ffn.gradients()))
          << "activation " << static_cast<int>(activation) << ", bias " << bias;
    }
}

}  // namespace
}  // namespace twill
