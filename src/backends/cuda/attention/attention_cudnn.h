// SPDX-License-Identifier: Apache-2.0
// Attention by cuDNN: bf16, heads of up to 128 elements; every key up to the query, all keys, or a
// window of them; with the lengths of keys and queries or with none. The library is opened at run
// time; without it, or in a build without its headers, every call says no.
#pragma once

#include <string>

#include "ops/attention/attention.h"

namespace twill::cuda {

// Enough for a forward and a backward call with these shapes, and with any smaller B or T.
std::int64_t cudnn_attention_workspace_bytes(const AttentionForwardArgs& args);

// False: nothing was done, this is a case for our own kernel. Shapes, alignment and the installed
// library decide, so the same call always gets the same answer.
bool cudnn_attention_forward(const AttentionForwardArgs& args, const Device& device, Queue& queue);
bool cudnn_attention_backward(const AttentionBackwardArgs& args, const Device& device,
                              Queue& queue);

// "cuDNN 9.19.0", or why there is none.
std::string describe_cudnn();

}  // namespace twill::cuda
