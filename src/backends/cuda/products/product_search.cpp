// SPDX-License-Identifier: Apache-2.0
// Every candidate runs a round; from the leader one setting after the other is changed, as long as
// that helps; the leaders run five more rounds in turn. With 0.5 ms a product some 0.2 s, most of
// it kernels that are loaded for the first time.
//
// What is found depends on a stopwatch, so it is kept (product_plan.h). Whether it is looked for
// depends on the product alone.
#include "backends/cuda/products/product_search.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "backends/cuda/products/product_call.h"
#include "backends/cuda/products/product_race.h"
#include "backends/cuda/products/product_variants.h"
#include "backends/cuda/runtime/stopwatch.h"
#include "base/bf16.h"
#include "base/log.h"
#include "ops/moved_bytes.h"

namespace twill::cuda {
namespace {

constexpr int kProposals = 24;
constexpr std::size_t kFirstProposals = 6;  // of the library's, which run whatever the time
constexpr int kMostVariants = 60;
constexpr double kClearlyBetter = 0.99;   // beyond the noise of the best of six rounds
constexpr double kClearlyQuicker = 0.98;  // two launches against one
// A round does about this much (0.3 ms on an H200) in at most kMostLaunches launches: one short
// launch drowns in the half microsecond to which an event is good.
constexpr double kRoundFlop = 2e11;
constexpr double kMostLaunches = 20.0;
// The library loads kernels, and one that finds no memory would fail and so lose: free memory would
// choose. So this much is left beside the second c that a search may need, and a launch that fails
// with less than kKernelBytes free ends the search.
constexpr std::size_t kMarginBytes = std::size_t{256} << 20;
constexpr std::size_t kKernelBytes = std::size_t{64} << 20;
constexpr std::int64_t kBoundary = 16;
// Rows of c by which a winner is compared with the library's choice.
constexpr std::int64_t kSampledRows = 16;

using Clock = std::chrono::steady_clock;

// The same bare product with other sizes: to be asked about, never to be run.
GemmArgs resized(const GemmArgs& args, std::int64_t m, std::int64_t n) {
  const std::int64_t k = args.k();
  return {.a = ConstView(args.a.bytes(), args.a.dtype(), args.trans_a ? Shape{k, m} : Shape{m, k}),
          .b = ConstView(args.b.bytes(), args.b.dtype(), args.trans_b ? Shape{n, k} : Shape{k, n}),
          .c = View(args.c.bytes(), args.c.dtype(), {m, n}),
          .trans_a = args.trans_a,
          .trans_b = args.trans_b,
          .accumulate = args.accumulate};
}

bool holds(const std::vector<Algorithm>& algorithms, const Algorithm& algorithm) {
  return std::ranges::find(algorithms, algorithm) != algorithms.end();
}

struct FreeDeviceMemory {
  void operator()(std::byte* memory) const { static_cast<void>(cudaFree(memory)); }
};
using DeviceMemory = std::unique_ptr<std::byte, FreeDeviceMemory>;

std::size_t free_memory() {
  std::size_t free = 0, total = 0;
  TWILL_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return free;
}

// nullptr when there is no room for `bytes` and the margin.
DeviceMemory memory_for(std::int64_t bytes) {
  if (free_memory() < static_cast<std::size_t>(bytes) + kMarginBytes) return nullptr;
  void* memory = nullptr;
  if (cudaMalloc(&memory, static_cast<std::size_t>(bytes)) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // free, but in pieces
    return nullptr;
  }
  return DeviceMemory(static_cast<std::byte*>(memory));
}

// One product that may run over and over, by any algorithm.
class Trial {
 public:
  Trial(const GemmArgs& args, const SearchPlace& place)
      : args_(args),
        call_(args),
        place_(place),
        watch_(place.queue.stream()),
        launches_(
            static_cast<int>(std::clamp(kRoundFlop / counted_flops(args), 1.0, kMostLaunches))) {}

  bool takes(const Algorithm& algorithm) { return call_.takes(place_.handle, algorithm); }

  // Seconds of one launch. The first time also loads the kernel: a launch before the round.
  double round(const Algorithm& algorithm, bool is_first) {
    constexpr double kNever = std::numeric_limits<double>::infinity();
    if (is_first && !launch(algorithm)) return kNever;
    bool has_failed = false;
    const double seconds = watch_.seconds([&] {
      for (int i = 0; i < launches_ && !has_failed; ++i) has_failed = !launch(algorithm);
    });
    return has_failed ? kNever : seconds / launches_;
  }

  bool is_out_of_memory() const { return is_out_of_memory_; }

  // Some rows of what the algorithm computes; none when it fails.
  std::vector<float> sample(const Algorithm& algorithm);

 private:
  bool launch(const Algorithm& algorithm) {
    const cublasStatus_t status =
        call_.launch(place_.handle, algorithm, place_.workspace, place_.queue.stream());
    if (status == CUBLAS_STATUS_SUCCESS) return true;
    static_cast<void>(cudaGetLastError());
    is_out_of_memory_ |= status == CUBLAS_STATUS_ALLOC_FAILED || free_memory() < kKernelBytes;
    return false;
  }

  GemmArgs args_;
  ProductCall call_;
  SearchPlace place_;
  Stopwatch watch_;
  int launches_;
  bool is_out_of_memory_ = false;
};

std::vector<float> Trial::sample(const Algorithm& algorithm) {
  const cudaStream_t stream = place_.queue.stream();
  if (args_.accumulate)
    TWILL_CUDA_CHECK(
        cudaMemsetAsync(args_.c.bytes(), 0, static_cast<std::size_t>(args_.c.num_bytes()), stream));
  if (!launch(algorithm)) return {};
  const std::int64_t m = args_.m(), n = args_.n(), rows = std::min(kSampledRows, m);
  const std::int64_t row_bytes = n * size_of(args_.c.dtype());
  std::vector<std::byte> bytes(static_cast<std::size_t>(rows * row_bytes));
  for (std::int64_t i = 0; i < rows; ++i)  // the first, the last, and between them
    TWILL_CUDA_CHECK(
        cudaMemcpyAsync(bytes.data() + i * row_bytes,
                        args_.c.bytes() + (rows == 1 ? 0 : i * (m - 1) / (rows - 1)) * row_bytes,
                        static_cast<std::size_t>(row_bytes), cudaMemcpyDeviceToHost, stream));
  TWILL_CUDA_CHECK(cudaStreamSynchronize(stream));
  std::vector<float> values(static_cast<std::size_t>(rows * n));
  const ConstView read(bytes.data(), args_.c.dtype(), {rows, n});
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = read.dtype() == DType::kBf16 ? to_float(read.as<Bf16>()[i]) : read.as<float>()[i];
  return values;
}

// The candidates of one search, and who of them leads.
class Field {
 public:
  Field(Trial& trial, std::vector<Algorithm> proposals, Clock::time_point deadline)
      : trial_(trial),
        candidates_(std::move(proposals)),
        race_([this](std::size_t candidate) { return time(candidate); }) {
    std::size_t entered = 0;
    for (; entered < candidates_.size(); ++entered) {
      if (entered >= kFirstProposals && Clock::now() >= deadline) break;
      race_.enter();
    }
    candidates_.resize(entered);
  }
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;

  // Changes settings of the leader, one after the other, until none helps any more.
  void vary(std::uint32_t reductions, Clock::time_point deadline);
  std::optional<Algorithm> winner();

 private:
  double time(std::size_t candidate) {
    const bool is_first = candidate >= num_loaded_;
    if (is_first) num_loaded_ = candidate + 1;
    return trial_.round(candidates_[candidate], is_first);
  }

  Trial& trial_;
  std::vector<Algorithm> candidates_;
  std::size_t num_loaded_ = 0;  // candidates enter in order
  Race race_;
};

void Field::vary(std::uint32_t reductions, Clock::time_point deadline) {
  int num_tried = 0;
  std::optional<std::size_t> before;
  while (race_.leader() && before != race_.leader()) {
    before = race_.leader();
    for (const Setting setting : kSettings) {
      const Algorithm base = candidates_[*race_.leader()];
      for (const Algorithm& variant : variants_of(base, setting, reductions)) {
        if (num_tried == kMostVariants || Clock::now() >= deadline) return;
        if (holds(candidates_, variant) || !trial_.takes(variant)) continue;
        candidates_.push_back(variant);
        race_.enter();
        ++num_tried;
      }
    }
  }
}

std::optional<Algorithm> Field::winner() {
  const std::optional<std::size_t> quickest = race_.finish(kClearlyBetter);
  if (!quickest) return std::nullopt;
  return candidates_[*quickest];
}

void log_untimed(const GemmArgs& args, std::string_view why) {
  log_warning(fmt::format(
      "{}: {}; cuBLASLt's first choice computes it in this run, unsearched and perhaps slower",
      name_of(args), why));
}

}  // namespace

std::string name_of(const GemmArgs& args) {
  return fmt::format("gemm ({}, {}, {})", args.m(), args.n(), args.k());
}

// The library proposes some eight algorithms, and for products with an epilogue sometimes a single
// one: half as fast as the best. So it is also asked about the bare product and its neighbours in
// size; what it then takes for the real one is tried as well.
std::vector<Algorithm> proposals_for(const GemmArgs& args, cublasLtHandle_t handle) {
  ProductCall call(args);
  std::vector<Algorithm> pool;
  const auto add = [&](ProductCall& asked) {
    for (const Algorithm& proposal : asked.candidates(handle, f32_reductions(args), kProposals))
      if (!holds(pool, proposal) && call.takes(handle, proposal)) pool.push_back(proposal);
  };
  add(call);
  const std::int64_t m = args.m(), n = args.n();
  for (const auto& [rows, cols] :
       {std::pair{m, n}, {m / 2, n}, {2 * m, n}, {m, n / 2}, {m, 2 * n}, {m / 4, n / 4}}) {
    if (rows == 0 || cols == 0) continue;
    ProductCall neighbour(resized(args, rows, cols));
    add(neighbour);
  }
  return pool;
}

std::optional<Algorithm> search(const GemmArgs& args, std::vector<Algorithm> proposals,
                                const SearchPlace& place) {
  GemmArgs real = args;
  DeviceMemory second;
  if (args.accumulate) {  // to a second c, as far off a boundary as the real one
    second = memory_for(args.c.num_bytes() + kBoundary);
    if (second == nullptr) {
      log_untimed(args, "no GPU memory is left for a second result to time its algorithms with");
      return std::nullopt;
    }
    const auto skew = reinterpret_cast<std::uintptr_t>(args.c.bytes()) % kBoundary;
    real.c = View(second.get() + skew, args.c.dtype(), args.c.shape());
  }
  const Clock::time_point deadline =
      Clock::now() +
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(place.seconds));
  Trial trial(real, place);
  const Algorithm expected = proposals.front();
  Field field(trial, std::move(proposals), deadline);
  field.vary(f32_reductions(args), deadline);
  const std::optional<Algorithm> winner = field.winner();
  if (trial.is_out_of_memory() || !winner) {
    log_untimed(args, winner ? "GPU memory ran out while its algorithms were timed"
                             : "none of its algorithms ran when they were timed");
    return std::nullopt;
  }
  if (*winner == expected) return winner;
  // A kernel that does not do its work is quick.
  const std::vector<float> sample = trial.sample(expected);
  if (!sample.empty() && !agree(sample, trial.sample(*winner))) {
    log_warning(
        fmt::format("{}: the quickest algorithm disagrees with cuBLASLt's own choice, which "
                    "computes it instead",
                    name_of(args)));
    return expected;
  }
  return winner;
}

bool is_quicker(const std::function<void()>& other, const std::function<void()>& usual,
                const CudaQueue& queue) {
  Stopwatch watch(queue.stream());
  Race race([&](std::size_t candidate) { return watch.seconds(candidate == 0 ? usual : other); });
  race.enter();
  race.enter();
  return race.finish(kClearlyQuicker) == std::size_t{1};
}

}  // namespace twill::cuda
