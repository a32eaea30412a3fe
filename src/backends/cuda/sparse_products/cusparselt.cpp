// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sparse_products/cusparselt.h"

#include <cuda_runtime_api.h>
#include <library_types.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/queue.h"
#include "backends/cuda/runtime/stopwatch.h"
#include "backends/cuda/sparse_products/cusparselt_library.h"
#include "backends/cuda/sparse_products/peer_form.h"
#include "base/require.h"

namespace twill::cuda {
namespace {

using cusparselt::Library;
using cusparselt::Opaque;

// The search tries algorithms that split K and asks nobody how much room there is: f32 partial sums
// of 11008 x 4096 take 180 MB each.
constexpr std::size_t kSearchWorkspace = std::size_t{1} << 30;
constexpr std::uint32_t kOperandAlignment = 16;
constexpr int kTimedLaunches = 10;

// A refusal travels as an exception to open_cusparselt_product() and becomes a reason there.
void accept(cusparselt::Status status, const char* call) {
  require(status == cusparselt::kSuccess, "{} says {}", call,
          cusparselt::library().GetErrorName(status));
}
#define TWILL_PEER_CALL(function, ...) \
  accept(cusparselt::library().function(__VA_ARGS__), "cusparseLt" #function)

class PeerMemory {
 public:
  PeerMemory() = default;
  explicit PeerMemory(std::size_t bytes) {
    if (bytes > 0) TWILL_CUDA_CHECK(cudaMalloc(&data_, bytes));
  }
  ~PeerMemory() { static_cast<void>(cudaFree(data_)); }
  PeerMemory(PeerMemory&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  PeerMemory& operator=(PeerMemory&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
  }
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

// A structure of the library's: what makes it, and what ends it.
class PeerObject {
 public:
  using Ends = cusparselt::Status (*)(const void*);
  PeerObject() = default;
  ~PeerObject() {
    if (ends_ != nullptr) static_cast<void>(ends_(&opaque_));
  }
  PeerObject(const PeerObject&) = delete;
  PeerObject& operator=(const PeerObject&) = delete;

  void* get() { return &opaque_; }
  const void* get() const { return &opaque_; }
  void ends_by(Ends ends) { ends_ = ends; }

 private:
  Opaque opaque_ = {};
  Ends ends_ = nullptr;
};

int type_of(ConstView view) { return view.dtype() == DType::kF32 ? CUDA_R_32F : CUDA_R_16BF; }
int order_of(const PeerMatrix& matrix) {
  return matrix.order == MatrixOrder::kRows ? cusparselt::kOrderRows : cusparselt::kOrderColumns;
}
int operation_of(const PeerMatrix& matrix) {
  return matrix.transposes ? cusparselt::kTranspose : cusparselt::kNoTranspose;
}

class CusparseltProduct final : public PeerProduct {
 public:
  CusparseltProduct(const PeerProductArgs& args, const PeerForm& form, cudaStream_t stream)
      : args_(args), form_(form), stream_(stream) {
    TWILL_PEER_CALL(Init, handle_.get());
    handle_.ends_by(cusparselt::library().Destroy);
    describe_matrices();
    plan_product();
    require_structure();
    compress();
    search();
  }

  void run() override {
    TWILL_PEER_CALL(Matmul, handle_.get(), plan_.get(), &kOne, a(), b(), &kZero,
                    args_.result.bytes(), args_.result.bytes(), workspace_.data(), &stream_, 1);
  }
  void compress() override {
    TWILL_PEER_CALL(SpMMACompress2, handle_.get(), structured().get(), form_.structured_is_a,
                    structured_operation(), args_.structured.bytes(), compressed_.data(),
                    scratch_.data(), stream_);
  }
  const std::string& description() const override { return description_; }

 private:
  static constexpr float kOne = 1.0f, kZero = 0.0f;

  PeerObject& structured() { return form_.structured_is_a ? a_ : b_; }
  int structured_operation() const {
    return operation_of(form_.structured_is_a ? form_.a : form_.b);
  }
  const void* a() const { return form_.structured_is_a ? compressed_.data() : args_.other.bytes(); }
  const void* b() const { return form_.structured_is_a ? args_.other.bytes() : compressed_.data(); }

  void describe(const PeerMatrix& matrix, bool is_structured, int type, PeerObject& to) {
    if (is_structured)
      TWILL_PEER_CALL(StructuredDescriptorInit, handle_.get(), to.get(), matrix.rows, matrix.cols,
                      matrix.leading, kOperandAlignment, type, order_of(matrix),
                      cusparselt::kHalfSparse);
    else
      TWILL_PEER_CALL(DenseDescriptorInit, handle_.get(), to.get(), matrix.rows, matrix.cols,
                      matrix.leading, kOperandAlignment, type, order_of(matrix));
    to.ends_by(cusparselt::library().MatDescriptorDestroy);
  }

  void describe_matrices() {
    describe(form_.a, form_.structured_is_a, CUDA_R_16BF, a_);
    describe(form_.b, !form_.structured_is_a, CUDA_R_16BF, b_);
    describe(form_.d, false, type_of(args_.result), d_);
  }

  void plan_product() {
    TWILL_PEER_CALL(MatmulDescriptorInit, handle_.get(), product_.get(), operation_of(form_.a),
                    operation_of(form_.b), a_.get(), b_.get(), d_.get(), d_.get(),
                    cusparselt::kComputeF32);
    TWILL_PEER_CALL(MatmulAlgSelectionInit, handle_.get(), choice_.get(), product_.get(),
                    cusparselt::kDefaultChoice);
    choice_.ends_by(cusparselt::library().MatmulAlgSelectionDestroy);
    TWILL_PEER_CALL(MatmulPlanInit, handle_.get(), plan_.get(), product_.get(), choice_.get());
    plan_.ends_by(cusparselt::library().MatmulPlanDestroy);
    std::size_t bytes = 0, scratch_bytes = 0;
    TWILL_PEER_CALL(SpMMACompressedSize2, handle_.get(), structured().get(), &bytes,
                    &scratch_bytes);
    compressed_ = PeerMemory(bytes);
    scratch_ = PeerMemory(scratch_bytes);
  }

  // Compressing drops a third entry of four without a word.
  void require_structure() {
    const PeerMemory flag(sizeof(int));
    int invalid = 1;
    TWILL_CUDA_CHECK(cudaMemsetAsync(flag.data(), 0, sizeof(int), stream_));  // it is only set
    TWILL_PEER_CALL(SpMMAPruneCheck2, handle_.get(), structured().get(), form_.structured_is_a,
                    structured_operation(), args_.structured.bytes(),
                    static_cast<int*>(flag.data()), stream_);
    TWILL_CUDA_CHECK(
        cudaMemcpyAsync(&invalid, flag.data(), sizeof(int), cudaMemcpyDeviceToHost, stream_));
    TWILL_CUDA_CHECK(cudaStreamSynchronize(stream_));
    require(invalid == 0, "the structured operand is not 2:4");
  }

  void search() {
    std::size_t bytes = 0;
    TWILL_PEER_CALL(MatmulGetWorkspace, handle_.get(), plan_.get(), &bytes);
    workspace_ = PeerMemory(std::max(bytes, kSearchWorkspace));
    TWILL_PEER_CALL(MatmulSearch, handle_.get(), plan_.get(), &kOne, a(), b(), &kZero,
                    args_.result.bytes(), args_.result.bytes(), workspace_.data(), &stream_, 1);
    TWILL_PEER_CALL(MatmulGetWorkspace, handle_.get(), plan_.get(), &bytes);
    require(bytes <= kSearchWorkspace, "the algorithm it found wants {} bytes of workspace", bytes);
    run();
    TWILL_CUDA_CHECK(cudaStreamSynchronize(stream_));
    int algorithm = -1, split = -1;
    const Library& library = cusparselt::library();
    static_cast<void>(library.MatmulAlgGetAttribute(
        handle_.get(), choice_.get(), cusparselt::kAlgorithmId, &algorithm, sizeof(algorithm)));
    static_cast<void>(library.MatmulAlgGetAttribute(handle_.get(), choice_.get(),
                                                    cusparselt::kSplitK, &split, sizeof(split)));
    description_ = fmt::format("cuSPARSELt {}, algorithm {}, K split {}, structured {}, {}",
                               library.version, algorithm, split, form_.structured_is_a ? "A" : "B",
                               form_.a.order == MatrixOrder::kRows ? "rows" : "columns");
  }

  PeerProductArgs args_;
  PeerForm form_;
  cudaStream_t stream_;
  // Ended in the opposite order.
  PeerObject handle_, a_, b_, d_, product_, choice_, plan_;
  PeerMemory compressed_, scratch_, workspace_;
  std::string description_;
};

double seconds_of(PeerProduct& product, cudaStream_t stream) {
  Stopwatch stopwatch(stream);
  return stopwatch.seconds([&] {
    for (int i = 0; i < kTimedLaunches; ++i) product.run();
  }) / kTimedLaunches;
}

}  // namespace

PeerProductReport open_cusparselt_product(const PeerProductArgs& args, const Device&,
                                          Queue& queue) {
  const Library& library = cusparselt::library();
  if (!library.problem.empty()) return {.reason = library.problem};
  const cudaStream_t stream = stream_of(queue);
  PeerProductReport best;
  double best_seconds = std::numeric_limits<double>::infinity();
  const PeerSizes sizes{.side = args.side,
                        .m = args.m(),
                        .n = args.n(),
                        .k = args.k(),
                        .transposed = args.transposed};
  for (const PeerForm& form : peer_forms(sizes)) {
    try {
      auto product = std::make_unique<CusparseltProduct>(args, form, stream);
      const double seconds = seconds_of(*product, stream);
      if (seconds >= best_seconds) continue;
      best_seconds = seconds;
      best.product = std::move(product);
    } catch (const std::exception& refusal) {
      static_cast<void>(cudaGetLastError());  // no launch behind shall report it
      const std::string why = refusal.what();
      if (best.reason.find(why) == std::string::npos)
        best.reason += (best.reason.empty() ? "" : "; ") + why;
    }
  }
  if (best.product) best.reason.clear();
  return best;
}

#undef TWILL_PEER_CALL

}  // namespace twill::cuda
