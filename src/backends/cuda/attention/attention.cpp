// SPDX-License-Identifier: Apache-2.0
// Attention on CUDA: cuDNN where it takes the case, our own kernels everywhere else.
#include "ops/attention/attention.h"

#include <algorithm>

#include "backends/cuda/attention/attention_cudnn.h"
#include "backends/cuda/attention/attention_plain.h"
#include "backends/cuda/kernels.h"

namespace twill::cuda {

// Both need room: lengths and a recipe's pattern, which decide between them, come with a call.
std::int64_t attention_workspace_bytes(const AttentionForwardArgs& args, const Device&) {
  return std::max(plain_attention_workspace_bytes(args), cudnn_attention_workspace_bytes(args));
}

void attention_forward(const AttentionForwardArgs& args, const Device& device, Queue& queue) {
  if (!cudnn_attention_forward(args, device, queue)) plain_attention_forward(args, queue);
}

void attention_backward(const AttentionBackwardArgs& args, const Device& device, Queue& queue) {
  if (!cudnn_attention_backward(args, device, queue)) plain_attention_backward(args, device, queue);
}

}  // namespace twill::cuda
