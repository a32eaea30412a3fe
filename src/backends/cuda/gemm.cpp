// SPDX-License-Identifier: Apache-2.0
// gemm on CUDA: cuBLASLt, with bias, addend, accumulation and tanh-GELU inside its one call.
//
// Bound by the tensor cores (f32: by FMAs, never TF32). The library's first guess is often some
// percent behind its best, so the candidates for a large product are timed once on the real
// operands and the winner is kept (product_plan.h): the same product then always runs the same
// algorithm. All candidates add up in f32 and in a fixed order. What the library refuses, our own
// kernel computes.
#include "ops/gemm.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/gemm_fallback.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/product_call.h"
#include "backends/cuda/product_plan.h"
#include "backends/cuda/queue.h"
#include "backends/cuda/scratch.h"
#include "base/log.h"

namespace twill::cuda {
namespace {

constexpr int kCandidates = 24;
constexpr int kTimedRounds = 5;
constexpr double kClearlyQuicker = 0.98;  // two launches against one: beyond the noise
// From here on a product is worth a search: 30 us on an H200. The products of a text that is written
// token by token, each of a size of its own, stay below it.
constexpr double kLargeFlop = 2e10;
// A timed round does about this much (0.3 ms) in at most kMaxLaunches launches: one short launch
// drowns in the half microsecond to which an event is good.
constexpr double kRoundFlop = 2e11;
constexpr double kMaxLaunches = 20.0;
// Memory left free beside the second c that a search may need.
constexpr std::size_t kSearchMarginBytes = std::size_t{256} << 20;
// Up to so many multiply-adds any kernel takes as long as its launch, unless a single sum is long.
constexpr std::int64_t kTinyWork = 4096;
constexpr std::int64_t kTinyDepth = 256;

double flop_of(const GemmArgs& args) {
  return 2.0 * static_cast<double>(args.m()) * static_cast<double>(args.n()) *
         static_cast<double>(args.k());
}

class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    TWILL_CUDA_CHECK(cudaEventCreate(&begin_));
    TWILL_CUDA_CHECK(cudaEventCreate(&end_));
  }
  ~Stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  template <class Body>
  double seconds(const Body& body) {
    TWILL_CUDA_CHECK(cudaEventRecord(begin_, stream_));
    body();
    TWILL_CUDA_CHECK(cudaEventRecord(end_, stream_));
    TWILL_CUDA_CHECK(cudaEventSynchronize(end_));
    float milliseconds = 0.0f;
    TWILL_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return 1e-3 * static_cast<double>(milliseconds);
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

std::string name_of_gpu(const Device& device) {
  cudaDeviceProp properties{};
  TWILL_CUDA_CHECK(cudaGetDeviceProperties(&properties, device.index));
  return properties.name;
}

// Opens the plan for this GPU, library and driver.
ProductPlan open_plan(const Device& device) {
  const std::string gpu = name_of_gpu(device);
  const auto version = static_cast<std::int64_t>(cublasLtGetVersion());
  int driver = 0;
  TWILL_CUDA_CHECK(cudaDriverGetVersion(&driver));
  return {fmt::format("{}, cuBLASLt {}, driver {}", gpu, version, driver),
          default_products_file(gpu, version)};
}

bool has_room(std::int64_t bytes) {
  std::size_t free = 0, total = 0;
  TWILL_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return free >= static_cast<std::size_t>(bytes) + kSearchMarginBytes;
}

// The product as a search may run it over and over. What accumulates goes to a second c, as far off
// a 16-byte boundary as the real one; otherwise c (and `before`, unless only read) are about to be
// overwritten anyway. Nothing when there is no memory for that.
std::optional<GemmArgs> trial_of(const GemmArgs& args, Scratch& scratch, const CudaQueue& queue) {
  GemmArgs trial = args;
  if (!args.accumulate) return trial;
  constexpr std::int64_t kBoundary = 16;
  const std::int64_t bytes = args.c.num_bytes() + kBoundary;
  if (!has_room(bytes)) return std::nullopt;
  const auto skew = reinterpret_cast<std::uintptr_t>(args.c.bytes()) % kBoundary;
  trial.c = View(scratch.at_least(bytes, queue) + skew, args.c.dtype(), args.c.shape());
  return trial;
}

// The product alone, written to c or added to it.
GemmArgs bare(const GemmArgs& args, bool accumulate) {
  return {.a = args.a,
          .b = args.b,
          .c = args.c,
          .trans_a = args.trans_a,
          .trans_b = args.trans_b,
          .accumulate = accumulate};
}

// The same bare product with other sizes: to be asked about, never to be run.
GemmArgs resized(const GemmArgs& args, std::int64_t m, std::int64_t n) {
  GemmArgs other = bare(args, args.accumulate);
  const std::int64_t k = args.k();
  other.a = ConstView(args.a.bytes(), args.a.dtype(), args.trans_a ? Shape{k, m} : Shape{m, k});
  other.b = ConstView(args.b.bytes(), args.b.dtype(), args.trans_b ? Shape{n, k} : Shape{k, n});
  other.c = View(args.c.bytes(), args.c.dtype(), {m, n});
  return other;
}

// What a queue keeps for products: cuBLASLt's handle and workspace, and the chosen algorithms.
class Products final : public QueueState {
 public:
  explicit Products(const Device& device) : plan_(open_plan(device)), first_guesses_("", {}) {
    TWILL_CUBLAS_CHECK(cublasLtCreate(&handle_));
  }
  ~Products() override { cublasLtDestroy(handle_); }
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  // False, and nothing done, when the library does not compute this.
  bool run(const GemmArgs& args, CudaQueue& queue);
  // The same with the library's first guess among all its algorithms.
  bool run_first_guess(const GemmArgs& args, CudaQueue& queue);
  // Decides, at the first sight of a large product with an epilogue, whether `in_two_steps` (the
  // product, then the activation) is quicker. Runs both; what they write must be about to be
  // overwritten.
  template <class TwoSteps>
  void settle_epilogue(const GemmArgs& args, CudaQueue& queue, const TwoSteps& in_two_steps);

 private:
  std::optional<Algorithm> choose(const GemmArgs& args, const ProductKey& key, CudaQueue& queue);
  // The library's own proposals first.
  std::vector<Algorithm> proposals(const GemmArgs& args, ProductCall& call);
  std::optional<Algorithm> search(const GemmArgs& args, const std::vector<Algorithm>& candidates,
                                  CudaQueue& queue);
  bool launch(ProductCall& call, const std::optional<Algorithm>& algorithm, CudaQueue& queue);

  cublasLtHandle_t handle_ = nullptr;
  Scratch workspace_;
  ProductPlan plan_;
  ProductPlan first_guesses_;
};

bool Products::launch(ProductCall& call, const std::optional<Algorithm>& algorithm,
                      CudaQueue& queue) {
  if (!algorithm) return false;
  TWILL_CUBLAS_CHECK(call.launch(handle_, *algorithm, workspace_.at_least(kWorkspaceBytes, queue),
                                 queue.stream()));
  return true;
}

bool Products::run(const GemmArgs& args, CudaQueue& queue) {
  const ProductKey key = describe(args);
  if (plan_.chosen(key) == nullptr) plan_.choose(key, choose(args, key, queue));
  ProductCall call(args);
  return launch(call, *plan_.chosen(key), queue);
}

// 350M's gradient of GELU took 0.82 ms inside a product that takes 0.35 ms alone; most other shapes
// are quicker inside.
template <class TwoSteps>
void Products::settle_epilogue(const GemmArgs& args, CudaQueue& queue,
                               const TwoSteps& in_two_steps) {
  const ProductKey key = describe(args);
  if (plan_.chosen(key) != nullptr || plan_.searched(key) != nullptr) return;
  if (flop_of(args) < kLargeFlop || queue.is_recording() || !run(args, queue)) return;
  in_two_steps();  // searches, too
  Stopwatch watch(queue.stream());
  const auto best_of = [&](const auto& body) {
    double best = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kTimedRounds; ++i) best = std::min(best, watch.seconds(body));
    return best;
  };
  const double fused = best_of([&] { run(args, queue); });
  if (best_of(in_two_steps) >= kClearlyQuicker * fused) return;
  plan_.choose(key, std::nullopt);
  plan_.keep_searched(key, kInTwoSteps);
}

bool Products::run_first_guess(const GemmArgs& args, CudaQueue& queue) {
  const ProductKey key = describe(args);
  ProductCall call(args);
  if (first_guesses_.chosen(key) == nullptr) {
    const std::vector<Algorithm> guess = call.candidates(handle_, kAllReductions, 1);
    first_guesses_.choose(key, guess.empty() ? std::nullopt : std::optional(guess.front()));
  }
  return launch(call, *first_guesses_.chosen(key), queue);
}

std::optional<Algorithm> Products::choose(const GemmArgs& args, const ProductKey& key,
                                          CudaQueue& queue) {
  ProductCall call(args);
  if (const Algorithm* searched = plan_.searched(key)) {
    if (*searched == kInTwoSteps && args.epilogue != GemmEpilogue::kNone) return std::nullopt;
    if (call.takes(handle_, *searched)) return *searched;
  }
  const bool is_large = flop_of(args) >= kLargeFlop;
  const std::vector<Algorithm> candidates =
      is_large ? proposals(args, call) : call.candidates(handle_, f32_reductions(args), 1);
  if (candidates.empty()) {
    if (is_large)
      log_warning(
          fmt::format("gemm ({}, {}, {}): cuBLASLt has no algorithm for it; a plain kernel "
                      "takes its place and is many times slower",
                      args.m(), args.n(), args.k()));
    return std::nullopt;
  }
  // Work that is being recorded does not run, so it cannot be timed.
  if (!is_large || queue.is_recording()) return candidates.front();
  const std::optional<Algorithm> fastest = search(args, candidates, queue);
  if (!fastest) return candidates.front();
  plan_.keep_searched(key, *fastest);
  return fastest;
}

// The library proposes some eight algorithms, and for products with an epilogue sometimes a single
// one: half as fast as the best. So it is also asked about the bare product and its neighbours in
// size; what it then takes for the real one is tried as well.
std::vector<Algorithm> Products::proposals(const GemmArgs& args, ProductCall& call) {
  std::vector<Algorithm> pool = call.candidates(handle_, f32_reductions(args), kCandidates);
  const std::int64_t m = args.m(), n = args.n();
  for (const auto& [rows, cols] :
       {std::pair{m, n}, {m / 2, n}, {2 * m, n}, {m, n / 2}, {m, 2 * n}, {m / 4, n / 4}}) {
    ProductCall neighbour(resized(args, rows, cols));
    for (const Algorithm& other : neighbour.candidates(handle_, f32_reductions(args), kCandidates))
      if (std::ranges::find(pool, other) == pool.end() && call.takes(handle_, other))
        pool.push_back(other);
  }
  return pool;
}

std::optional<Algorithm> Products::search(const GemmArgs& args,
                                          const std::vector<Algorithm>& candidates,
                                          CudaQueue& queue) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  Scratch scratch;
  const std::optional<GemmArgs> trial = trial_of(args, scratch, queue);
  if (!trial) return std::nullopt;
  ProductCall call(*trial);
  Stopwatch watch(queue.stream());
  std::byte* workspace = workspace_.at_least(kWorkspaceBytes, queue);
  const int launches = static_cast<int>(std::clamp(kRoundFlop / flop_of(args), 1.0, kMaxLaunches));
  const auto time = [&](std::size_t candidate, double hopeless) {
    const auto launch_one = [&] {
      return call.launch(handle_, candidates[candidate], workspace, queue.stream());
    };
    const auto round = [&] {
      for (int i = 0; i < launches; ++i) TWILL_CUBLAS_CHECK(launch_one());
    };
    // Two warm-ups: the first also loads the kernel, the second says whether to go on.
    if (launch_one() != CUBLAS_STATUS_SUCCESS) return kNever;
    double best = watch.seconds(round) / launches;
    if (best > hopeless) return kNever;
    for (int i = 0; i < kTimedRounds; ++i) best = std::min(best, watch.seconds(round) / launches);
    return best;
  };
  return candidates[choose_fastest(candidates.size(), time)];
}

Products& products_of(const Device& device, Queue& queue) {
  return state_of<Products>(cuda_queue(queue).products, device);
}

bool is_tiny(const GemmArgs& args) {
  return args.k() <= kTinyDepth && args.m() * args.n() * args.k() <= kTinyWork;
}

// The library adds one matrix, and a bias of the type of c.
bool is_one_call(const GemmArgs& args) {
  const bool adds_two = args.addend && args.accumulate;
  return !adds_two && (!args.bias || args.bias.dtype() == args.c.dtype());
}

void product(const GemmArgs& args, const Device& device, Queue& queue) {
  if (args.k() == 0 || is_tiny(args)) return gemm_fallback(args, device, queue);
  if (!is_one_call(args)) {
    // An f32 c can hold the other terms while it waits; in bf16 that would round twice.
    if (args.c.dtype() != DType::kF32) return gemm_fallback(args, device, queue);
    gemm_terms(args, device, queue);
    return product(bare(args, true), device, queue);
  }
  if (!products_of(device, queue).run(args, cuda_queue(queue))) gemm_fallback(args, device, queue);
}

// The two steps of a fused epilogue, for a product that the library refuses after all.
void product_and_activation(const GemmArgs& args, const Device& device, Queue& queue) {
  GemmArgs sum = args;
  sum.epilogue = GemmEpilogue::kNone;
  sum.before = {};
  if (args.epilogue == GemmEpilogue::kActivation) {
    sum.c = args.before;
    product(sum, device, queue);
    return activation_forward({.kind = args.activation, .x = args.before, .y = args.c}, device,
                              queue);
  }
  product(sum, device, queue);
  activation_backward({.kind = args.activation, .x = args.before, .dy = args.c, .dx = args.c},
                      device, queue);
}

bool all_bf16(std::initializer_list<ConstView> views) {
  return std::ranges::all_of(
      views, [](const ConstView& view) { return !view || view.dtype() == DType::kBf16; });
}

}  // namespace

// The library knows the GELU of kGeluTanh and no other activation of ours. Its gradient takes no
// bias; addends inside a GELU are left to the two steps.
bool gemm_fuses(const GemmArgs& args) {
  const bool is_gradient = args.epilogue == GemmEpilogue::kActivationGradient;
  return args.epilogue != GemmEpilogue::kNone && args.activation == Activation::kGeluTanh &&
         args.before && !args.accumulate && !args.addend && !(is_gradient && args.bias) &&
         all_bf16({args.a, args.b, args.c, args.bias, args.before}) && args.m() % 8 == 0 &&
         args.n() % 8 == 0 && args.k() % 8 == 0 &&
         is_aligned({args.a, args.b, args.c, args.bias, args.before});
}

void gemm(const GemmArgs& args, const Device& device, Queue& queue) {
  if (args.m() == 0 || args.n() == 0) return;
  if (args.epilogue == GemmEpilogue::kNone) return product(args, device, queue);
  TWILL_CHECK(gemm_fuses(args), "an epilogue that gemm does not fuse");
  Products& products = products_of(device, queue);
  const auto in_two_steps = [&] { product_and_activation(args, device, queue); };
  if (args.k() > 0) products.settle_epilogue(args, cuda_queue(queue), in_two_steps);
  const bool is_done = args.k() > 0 && products.run(args, cuda_queue(queue));
  if (!is_done) in_two_steps();
}

void plain_gemm(const GemmArgs& args, const Device& device, Queue& queue) {
  if (args.m() == 0 || args.n() == 0) return;
  const GemmArgs plain = bare(args, args.accumulate);
  const bool is_done =
      args.k() > 0 && products_of(device, queue).run_first_guess(plain, cuda_queue(queue));
  if (!is_done) gemm_fallback(plain, device, queue);
}

}  // namespace twill::cuda
