// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace twill::cpu {

// c = alpha op(a) op(b) + beta c, row-major. op(a) is (m, k), op(b) is (k, n).
struct SgemmArgs {
  bool trans_a = false;
  bool trans_b = false;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  float alpha = 1.0f;
  const float* a = nullptr;
  std::int64_t lda = 0;
  const float* b = nullptr;
  std::int64_t ldb = 0;
  float beta = 0.0f;
  float* c = nullptr;
  std::int64_t ldc = 0;
};

// One call of the library. beta = 0 overwrites c, whatever it held; k = 0 leaves beta c. With one
// thread the bits depend on the operands alone; with more they also depend on num_threads.
void sgemm(const SgemmArgs& args, int num_threads = 1);

}  // namespace twill::cpu
