// SPDX-License-Identifier: Apache-2.0
// 2:4 products on sparse tensor cores, one way to compute each beside another; who of them runs,
// sparse_products.h decides. The packed operand is always A (M x K), tokens are never
// transposed:
//
//   kWeightGradient  D (M, N) with N inside: c = P b, K = tokens, f32
//   all others       D (M, N) with M inside: c (tokens, outputs) = x Pᵀ, N = tokens
//
// A gated activation takes two products, of the values' rows of P and of the gates': the first is a
// kSum, the second reads its result.
//
// Knows no CUTLASS: only sparse_product.cuh, what it includes and the files that include it do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

// As cuda_runtime_api.h has it, so that files which know no CUDA can speak of a way.
typedef struct CUstream_st* cudaStream_t;  // NOLINT(modernize-use-using): the header's own words

namespace twill::cuda {

// Files of choices have their numbers: new ones come last.
enum class SparseEpilogue : std::uint8_t {
  kSum,             // [+ bias] [+ addend]
  kGelu,            // before = [+ bias], d = gelu_tanh(before as stored)
  kGeluGradient,    // d = the product · gelu_tanh'(before)
  kWeightGradient,  // [+ d]
  kRelu2,           // as kGelu, of max(z, 0)²
  kRelu2Gradient,
  // before = [+ bias], d = value · f(before as stored)
  kSwiglu,
  kGeglu,
  kGegluTanh,
  kGeluSlope,   // as kGelu, but before = gelu_tanh'(what it has there)
  kTimesSlope,  // d = the product, rounded or not, · before
};
inline constexpr int kSparseEpilogues = 11;

constexpr bool is_gated(SparseEpilogue e) {
  return e == SparseEpilogue::kSwiglu || e == SparseEpilogue::kGeglu ||
         e == SparseEpilogue::kGegluTanh;
}
// Whether it writes `before` and puts f of it into d.
constexpr bool activates(SparseEpilogue e) {
  return e == SparseEpilogue::kGelu || e == SparseEpilogue::kGeluSlope ||
         e == SparseEpilogue::kRelu2 || is_gated(e);
}
constexpr bool leaves_slope(SparseEpilogue e) { return e == SparseEpilogue::kGeluSlope; }
// Whether it reads `before` and multiplies by the slope of f there.
constexpr bool multiplies_by_slope(SparseEpilogue e) {
  return e == SparseEpilogue::kGeluGradient || e == SparseEpilogue::kTimesSlope ||
         e == SparseEpilogue::kRelu2Gradient;
}

struct SparseProduct {
  std::int64_t m = 0, n = 0, k = 0;
  const void* values = nullptr;  // of A
  const void* positions = nullptr;
  const void* b = nullptr;
  void* d = nullptr;
  const void* bias = nullptr;    // (m), optional
  const void* addend = nullptr;  // like d, optional
  void* before = nullptr;
  const void* value = nullptr;  // of a gated activation
  // Where A is some rows of a matrix: atoms of the whole one along M, the way from an atom to the next
  // along K. 0: as m has it.
  std::int64_t whole_atoms_down = 0;
  // Entries from a token to the next in d, and in before and value. 0: m.
  std::int64_t d_pitch = 0, before_pitch = 0;

  constexpr std::int64_t pitch_of_d() const { return d_pitch != 0 ? d_pitch : m; }
  constexpr std::int64_t pitch_of_before() const { return before_pitch != 0 ? before_pitch : m; }
};

// In which order tiles are computed: along N first or along M, in columns of so many tiles.
struct SparseOrder {
  bool along_n = false;
  int swizzle = 1;

  friend bool operator==(const SparseOrder&, const SparseOrder&) = default;
};

struct SparseWay {
  const char* name;  // tile and cluster; another for each way of an epilogue
  // Bytes of workspace for this product in this order; -1: it does not compute it.
  std::int64_t (*workspace)(const SparseProduct& product, SparseOrder order, int num_sms);
  bool (*launch)(const SparseProduct& product, SparseOrder order, int num_sms, std::byte* workspace,
                 cudaStream_t stream);
  // Device::generation of the GPUs that run it.
  int oldest_generation = 0;
  int latest_generation = std::numeric_limits<int>::max();

  bool runs_on(int generation) const {
    return generation >= oldest_generation && generation <= latest_generation;
  }
};

// All ways to compute an epilogue, on one GPU or another, the expected best first.
std::span<const SparseWay> sparse_ways(SparseEpilogue epilogue);

}  // namespace twill::cuda
