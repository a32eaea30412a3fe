// SPDX-License-Identifier: Apache-2.0
// Attention by cuDNN's graph API. Strides let it read q, k and v and write their gradients as they
// lie: nothing is copied. A plan is made once per shape and lives as long as the process; the scale
// and lengths are arguments of the plan. cuDNN leaves open what it writes to rows that do not exist or
// see nothing: attention_clear.cu does it, in calls that can have such rows.
//
// The deterministic backward pass keeps ds for all pairs, 2 T² bytes per head, in the workspace. So
// it runs over slices of the batch (and of the heads, where one sequence alone is too long) that
// fit what the caller gives.
#include "backends/cuda/attention/attention_cudnn.h"

#ifdef TWILL_HAS_CUDNN

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <exception>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "backends/cuda/attention/attention_clear.h"
#include "backends/cuda/attention/attention_cudnn_graph.h"
#include "backends/cuda/runtime/check.h"
#include "backends/cuda/runtime/launch.h"
#include "backends/cuda/runtime/queue.h"
#include "base/log.h"

// The frontend finds cuDNN's functions through this.
namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}  // namespace cudnn_frontend

namespace twill::cuda {
namespace {

// What cuDNN takes, but for the condition on T that depends on more than its size.
bool may_take(DType dtype, const AttentionSizes& sizes) {
  return dtype == DType::kBf16 && sizes.D % 8 == 0 && sizes.D <= 128 && sizes.T >= 64 &&
         sizes.S >= 64;
}

// Every new shape costs a plan, and that is compiled: some 0.4 s. So prompts of all lengths stay
// with our own kernel, which needs about 1 ms for 2^27 pairs. T in steps of 8 keeps what follows
// the rows' sums in the workspace on 32-byte lines.
bool takes(DType dtype, const AttentionSizes& sizes) {
  constexpr std::int64_t kManyPairs = std::int64_t{1} << 27;
  const bool is_large = sizes.B * sizes.H * sizes.T * sizes.S >= kManyPairs;
  const std::int64_t step = is_large ? 8 : 64;
  return sizes.B > 0 && may_take(dtype, sizes) && sizes.T % step == 0 && sizes.S % step == 0;
}

// Whether the pattern shows every key up to the query, whatever its name.
bool shows_all_before(AttentionPattern pattern, std::int64_t stride, std::int64_t tokens) {
  switch (pattern) {
    case AttentionPattern::kFull:
    case AttentionPattern::kWindow:
      return false;
    case AttentionPattern::kCausal:
      return true;
    case AttentionPattern::kLocal:
      return stride >= tokens;
    case AttentionPattern::kStrided:
      return stride == 1;
    case AttentionPattern::kUnion:
    case AttentionPattern::kFixed:
      return stride == 1 || stride >= tokens;
  }
  return false;
}

// The band of pairs that a call shows; nothing: it is no band, and a case for our own kernel. So is
// the local pattern of a recipe, whose runs would have other bits with cuDNN.
std::optional<PairBand> band_of(const AttentionMask& mask, const AttentionSizes& sizes) {
  if (shows_all_before(mask.kind, mask.stride, sizes.T)) return PairBand{.right = 0};
  if (mask.kind == AttentionPattern::kFull) return PairBand{};
  if (mask.kind == AttentionPattern::kWindow) {
    if (mask.stride >= std::max(sizes.T, sizes.S)) return PairBand{};
    return PairBand{.left = mask.stride, .right = mask.stride - 1};
  }
  const bool is_general = sizes.has_lengths || sizes.T != sizes.S;
  if (mask.kind != AttentionPattern::kLocal || !is_general) return {};
  return PairBand{.left = mask.stride, .right = 0};
}

// The call as cuDNN is asked to take it, or nothing.
template <class Args>
std::optional<AttentionSizes> sizes_taken(const Args& args) {
  AttentionSizes sizes = AttentionSizes::of(args);
  if (!takes(args.out.dtype(), sizes)) return {};
  // cuDNN wants the lengths of both or of none.
  sizes.has_lengths = static_cast<bool>(args.key_lengths);
  if (sizes.has_lengths != static_cast<bool>(args.query_lengths)) return {};
  const std::optional<PairBand> band = band_of(args.mask, sizes);
  if (!band) return {};
  sizes.band = *band;
  return sizes;
}

template <class Args>
bool are_heads_aligned(const Args& args) {
  return has_aligned_rows(args.q) && has_aligned_rows(args.k) && has_aligned_rows(args.v);
}

// Whether some rows may be missing, or see nothing.
bool needs_clearing(const AttentionSizes& sizes) {
  return sizes.has_lengths || (sizes.band.left != PairBand::kUnbounded && sizes.T > sizes.S);
}

// ds of the backward pass in bf16, with T and S rounded up to tiles.
std::int64_t pair_bytes(const AttentionSizes& sizes) {
  const std::int64_t T = ceil_div(sizes.T, 128) * 128, S = ceil_div(sizes.S, 128) * 128;
  return sizes.B * sizes.H * T * S * 2;
}

// A generous guess at what the backward pass needs. Seen with cuDNN 9.19 on sm_90: ds, 4 bytes per
// row, 256 more, and where heads are grouped dk and dv of every query head in bf16. Grows with
// B and T; what a plan really needs decides when it is used.
std::int64_t likely_bytes(const AttentionSizes& sizes) {
  const std::int64_t rows = sizes.B * sizes.H * ceil_div(std::max(sizes.T, sizes.S), 128) * 128;
  return pair_bytes(sizes) + rows * (8 * sizes.D + 16) + (1 << 20);
}

// Whole batches where 4 GiB hold them: slices of 256 MiB took 41.0 ms instead of 34.8 ms per step of
// GPT-2 1558M (16 x 1024: 0.84 GB) and 66.0 ms instead of 50.4 ms of LLaMA 1.2B (12 x 2048: 3.2 GB).
constexpr std::int64_t kWorkspaceBytes = (std::int64_t{4} << 30) + (std::int64_t{256} << 20);
constexpr std::int64_t kMostBytes = std::int64_t{2} << 30;  // one head of 32000 tokens

struct Plan {
  fe::graph::Graph graph;
  std::int64_t workspace_bytes = 0;
};

void check(fe::error_t status, const char* call, int line) {
  if (status.is_bad()) library_failed(status.get_message().c_str(), call, __FILE__, line);
}

void* open_first(std::initializer_list<std::string> names) {
  for (const std::string& name : names)
    if (void* library = dlopen(name.c_str(), RTLD_NOW)) return library;
  return nullptr;
}

// cuDNN, one handle per device and all plans. One call at a time: a handle serves one thread.
// Never destroyed: the driver may be gone by then.
class Library {
 public:
  static Library& get() {
    static auto* library = new Library;
    return *library;
  }

  bool is_open() const { return fe::cudnn_dlhandle != nullptr; }
  const std::string& description() const { return description_; }

  // nullptr: cuDNN does not take this shape.
  Plan* find(Direction direction, const AttentionSizes& sizes, const Device& device, Queue& queue) {
    const Key key{device.index, direction, sizes};
    const auto known = plans_.find(key);
    if (known != plans_.end()) return known->second.get();
    TWILL_CHECK(!cuda_queue(queue).is_recording(), "attention must run once before it is recorded");
    return (plans_[key] = make(key)).get();
  }

  void run(Plan& plan, std::unordered_map<std::int64_t, void*>& operands, const View& workspace,
           const Device& device, Queue& queue) {
    const cudnnHandle_t handle = handles_.at(device.index);
    const cudnnStatus_t status = fe::detail::set_stream(handle, stream_of(queue));
    if (status != CUDNN_STATUS_SUCCESS)
      library_failed(fe::detail::get_error_string(status), "cudnnSetStream", __FILE__, __LINE__);
    check(plan.graph.execute(handle, operands, workspace.bytes()), "cudnnBackendExecute", __LINE__);
  }

  std::mutex mutex;  // held by whoever calls find() and run()

 private:
  struct Key {
    int device;
    Direction direction;
    AttentionSizes sizes;
    auto operator<=>(const Key&) const = default;
  };

  Library() {
    // The frontend opens the CUDA runtime by this name; once open, it is found wherever it lies.
    const std::string runtime = fmt::format("libcudart.so.{}", CUDART_VERSION / 1000);
    if (open_first({runtime, "/usr/local/cuda/lib64/" + runtime}) == nullptr) {
      description_ = fmt::format("no cuDNN: {} cannot be opened", runtime);
      return;
    }
    void* library = open_first({"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9"});
    if (library == nullptr) {
      description_ = "no cuDNN: libcudnn.so.9 cannot be opened";
      return;
    }
    fe::cudnn_dlhandle = library;
    description_ = fmt::format("cuDNN {}", fe::detail::get_backend_version_string());
  }

  std::optional<cudnnHandle_t> handle_of(int device) {
    const auto known = handles_.find(device);
    if (known != handles_.end()) return known->second;
    cudnnHandle_t handle = nullptr;
    if (fe::detail::create_handle(&handle) != CUDNN_STATUS_SUCCESS) return {};
    handles_[device] = handle;
    return handle;
  }

  std::unique_ptr<Plan> make(const Key& key) {
    std::string problem;
    try {
      const std::optional<cudnnHandle_t> handle = handle_of(key.device);
      auto plan = std::make_unique<Plan>();
      describe_graph(key.sizes, key.direction, plan->graph);
      fe::error_t status{fe::error_code_t::HANDLE_ERROR, "cuDNN does not start"};
      if (handle) status = plan->graph.build(*handle, {fe::HeurMode_t::A});
      if (status.is_good()) status = plan->graph.get_workspace_size(plan->workspace_bytes);
      if (status.is_good()) return plan;
      problem = status.get_message();
    } catch (const std::exception& error) {
      problem = error.what();
    }
    const AttentionSizes& sizes = key.sizes;
    const char* direction = key.direction == Direction::kForward ? "forward" : "backward";
    log_warning(fmt::format(
        "attention {} of ({}, {}, {}, {}) to ({}, {}, {}, {}) runs without cuDNN: {}", direction,
        sizes.B, sizes.T, sizes.H, sizes.D, sizes.B, sizes.S, sizes.K, sizes.D, problem));
    return nullptr;
  }

  std::string description_;
  std::map<int, cudnnHandle_t> handles_;
  std::map<Key, std::unique_ptr<Plan>> plans_;  // nullptr: refused
};

// The part of a view that a slice begins with: cuDNN takes inputs by the same pointer as outputs.
template <class AnyView>
void* bytes_at(const AnyView& view, std::int64_t element) {
  return const_cast<std::byte*>(view.bytes()) + element * size_of(view.dtype());
}

using Operands = std::unordered_map<std::int64_t, void*>;

// The end of a workspace, behind what plans may use: the lengths of keys and of queries as cuDNN takes
// them. It does not say what it makes of one below 0 or beyond T.
std::int64_t length_bytes(std::int64_t batch) {
  return ceil_div(2 * batch * size_of(DType::kI32), 16) * 16 + 16;  // 16: the end is on no line
}
std::int64_t bytes_for_plans(const View& workspace, std::int64_t batch) {
  return std::max<std::int64_t>(workspace ? workspace.num_bytes() - length_bytes(batch) : 0, 0);
}

bool holds_lengths(const View& workspace, std::int64_t batch) {
  return workspace && workspace.num_bytes() >= length_bytes(batch);
}

struct Lengths {
  std::int32_t* keys = nullptr;  // nullptr: all exist
  std::int32_t* queries = nullptr;
};

// Where there are any; the workspace holds them.
template <class Args>
Lengths clamped_lengths(const Args& args, const AttentionSizes& sizes, Queue& queue) {
  if (!sizes.has_lengths) return {};
  const std::int64_t begin = ceil_div(bytes_for_plans(args.workspace, sizes.B), 16) * 16;
  auto* keys = reinterpret_cast<std::int32_t*>(args.workspace.bytes() + begin);
  const Lengths lengths{.keys = keys, .queries = keys + sizes.B};
  clamp_lengths(args.key_lengths, sizes.S, lengths.keys, queue);
  clamp_lengths(args.query_lengths, sizes.T, lengths.queries, queue);
  return lengths;
}

// Those of the sequences from b on.
void add_lengths(const Lengths& lengths, std::int64_t b, Operands& operands) {
  if (lengths.keys == nullptr) return;
  operands[kKeyLengths] = lengths.keys + b;
  operands[kQueryLengths] = lengths.queries + b;
}

struct Slice {
  AttentionSizes sizes;
  Plan* plan = nullptr;  // nullptr: none fits
};

// The largest part of a backward call whose workspace fits: whole sequences if one does, else heads
// of one sequence.
Slice choose_slice(Library& library, const AttentionSizes& all, std::int64_t given,
                   const Device& device, Queue& queue) {
  const auto try_slice = [&](std::int64_t batch, std::int64_t kv_heads) -> std::optional<Slice> {
    const AttentionSizes sizes = all.sliced(batch, kv_heads);
    if (pair_bytes(sizes) > given) return {};
    Plan* plan = library.find(Direction::kBackward, sizes, device, queue);
    if (plan == nullptr) return Slice{sizes};  // refused: smaller slices are no different
    if (plan->workspace_bytes > given) return {};
    return Slice{sizes, plan};
  };
  for (std::int64_t batch = all.B; batch > 0; --batch)
    if (all.B % batch == 0)
      if (const auto slice = try_slice(batch, all.K)) return *slice;
  for (std::int64_t kv_heads = all.K - 1; kv_heads > 0; --kv_heads)
    if (all.K % kv_heads == 0)
      if (const auto slice = try_slice(1, kv_heads)) return *slice;
  return {};
}

void run_slice(Library& library, const AttentionBackwardArgs& args, const Slice& slice,
               const Lengths& lengths, std::int64_t b, std::int64_t kv, const Device& device,
               Queue& queue) {
  const AttentionExtents is(args);
  const std::int64_t h = kv * (is.H / is.K), out = (b * is.T * is.H + h) * is.D;
  float scale = static_cast<float>(args.scale);
  Operands operands{{kQ, bytes_at(args.q, args.q.at(b, 0, h))},
                    {kK, bytes_at(args.k, args.k.at(b, 0, kv))},
                    {kV, bytes_at(args.v, args.v.at(b, 0, kv))},
                    {kOut, bytes_at(args.out, out)},
                    {kDOut, bytes_at(args.dout, out)},
                    {kLse, bytes_at(args.lse, (b * is.H + h) * is.T)},
                    {kScale, &scale},
                    {kDQ, bytes_at(args.dq, args.dq.at(b, 0, h))},
                    {kDK, bytes_at(args.dk, args.dk.at(b, 0, kv))},
                    {kDV, bytes_at(args.dv, args.dv.at(b, 0, kv))}};
  add_lengths(lengths, b, operands);
  library.run(*slice.plan, operands, args.workspace, device, queue);
}

}  // namespace

std::int64_t cudnn_attention_workspace_bytes(const AttentionForwardArgs& args) {
  const AttentionSizes all = AttentionSizes::of(args);
  if (all.B == 0 || !may_take(args.q.dtype(), all) || !Library::get().is_open()) return 0;
  // At least one group of heads of one sequence, within reason. Both terms grow with B and T, so
  // that smaller calls may share the workspace of the largest.
  return std::max(std::min(kMostBytes, likely_bytes(all.sliced(1, 1))),
                  std::min(kWorkspaceBytes, likely_bytes(all))) +
         length_bytes(all.B);
}

bool cudnn_attention_forward(const AttentionForwardArgs& args, const Device& device, Queue& queue) {
  const std::optional<AttentionSizes> all = sizes_taken(args);
  if (!all || !are_heads_aligned(args)) return false;
  if (!is_aligned({args.out, args.lse, args.workspace})) return false;
  Library& library = Library::get();
  if (!library.is_open()) return false;
  const std::lock_guard lock(library.mutex);
  Plan* plan = library.find(Direction::kForward, *all, device, queue);
  if (plan == nullptr || plan->workspace_bytes > bytes_for_plans(args.workspace, all->B))
    return false;
  if (all->has_lengths && !holds_lengths(args.workspace, all->B)) return false;

  float scale = static_cast<float>(args.scale);
  Operands operands{{kQ, bytes_at(args.q, 0)}, {kK, bytes_at(args.k, 0)}, {kV, bytes_at(args.v, 0)},
                    {kOut, args.out.bytes()},  {kLse, args.lse.bytes()},  {kScale, &scale}};
  add_lengths(clamped_lengths(args, *all, queue), 0, operands);
  library.run(*plan, operands, args.workspace, device, queue);
  if (needs_clearing(*all)) clear_missing(args, queue);
  return true;
}

bool cudnn_attention_backward(const AttentionBackwardArgs& args, const Device& device,
                              Queue& queue) {
  const std::optional<AttentionSizes> all = sizes_taken(args);
  if (!all || !are_heads_aligned(args)) return false;
  if (!has_aligned_rows(args.dq) || !has_aligned_rows(args.dk) || !has_aligned_rows(args.dv))
    return false;
  if (!is_aligned({args.out, args.lse, args.dout, args.workspace})) return false;
  Library& library = Library::get();
  if (!library.is_open()) return false;
  const std::lock_guard lock(library.mutex);
  const Slice slice =
      choose_slice(library, *all, bytes_for_plans(args.workspace, all->B), device, queue);
  if (slice.plan == nullptr) return false;
  if (all->has_lengths && !holds_lengths(args.workspace, all->B)) return false;

  const Lengths lengths = clamped_lengths(args, *all, queue);
  for (std::int64_t b = 0; b < all->B; b += slice.sizes.B)
    for (std::int64_t kv = 0; kv < all->K; kv += slice.sizes.K)
      run_slice(library, args, slice, lengths, b, kv, device, queue);
  if (needs_clearing(*all)) clear_missing(args, queue);
  return true;
}

std::string describe_cudnn() { return Library::get().description(); }

}  // namespace twill::cuda

#else  // TWILL_HAS_CUDNN

namespace twill::cuda {

std::int64_t cudnn_attention_workspace_bytes(const AttentionForwardArgs&) { return 0; }
bool cudnn_attention_forward(const AttentionForwardArgs&, const Device&, Queue&) { return false; }
bool cudnn_attention_backward(const AttentionBackwardArgs&, const Device&, Queue&) { return false; }
std::string describe_cudnn() { return "no cuDNN in this build"; }

}  // namespace twill::cuda

#endif  // TWILL_HAS_CUDNN
