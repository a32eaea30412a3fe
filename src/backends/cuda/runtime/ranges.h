// SPDX-License-Identifier: Apache-2.0
// Named stretches for Nsight Systems and Compute (NVTX). Without such a tool a call is a load and a
// jump: a few nanoseconds.
#pragma once

namespace twill::cuda {

void push_range(const char* name);
void pop_range();

}  // namespace twill::cuda
