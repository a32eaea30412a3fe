// SPDX-License-Identifier: Apache-2.0
// Zeros where a result of attention has nothing to say: rows of queries that do not exist or see no
// key, and of keys that do not exist. And lengths as the contract reads them.
#pragma once

#include "ops/attention/attention.h"

namespace twill::cuda {

void clear_missing(const AttentionForwardArgs& args, Queue& queue);   // out, lse
void clear_missing(const AttentionBackwardArgs& args, Queue& queue);  // dq, dk, dv

// to[b] = lengths[b], but 0 where it is less and `most` where it is more.
void clamp_lengths(ConstView lengths, std::int64_t most, std::int32_t* to, Queue& queue);

}  // namespace twill::cuda
