// SPDX-License-Identifier: Apache-2.0
// Attention by our own kernels: f32 and bf16, every pattern, any number of queries and keys, any
// lengths and strides, heads of up to 256 elements.
#pragma once

#include "ops/attention/attention.h"

namespace twill::cuda {

std::int64_t plain_attention_workspace_bytes(const AttentionForwardArgs& args);
void plain_attention_forward(const AttentionForwardArgs& args, Queue& queue);
void plain_attention_backward(const AttentionBackwardArgs& args, const Device& device,
                              Queue& queue);

}  // namespace twill::cuda
