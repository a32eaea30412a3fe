// SPDX-License-Identifier: Apache-2.0
#include "support/fake_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/require.h"
#include "ops/attention/attention.h"
#include "ops/attention/cached_attention.h"
#include "ops/attention/rotary.h"
#include "ops/layers/activation.h"
#include "ops/layers/cross_entropy.h"
#include "ops/layers/dropout.h"
#include "ops/layers/embedding.h"
#include "ops/layers/layer_norm.h"
#include "ops/layers/rms_norm.h"
#include "ops/layers/targets.h"
#include "ops/numbers/cast.h"
#include "ops/numbers/column_sum.h"
#include "ops/numbers/fill.h"
#include "ops/numbers/fp8.h"
#include "ops/numbers/sum.h"
#include "ops/numbers/sum_squares.h"
#include "ops/packing/pack24.h"
#include "ops/packing/packed_matrix.h"
#include "ops/products/gemm.h"
#include "ops/products/packed_times.h"
#include "ops/products/times_packed.h"
#include "ops/selection/kept.h"
#include "ops/selection/mask.h"
#include "ops/selection/mvue24.h"
#include "ops/selection/route_tokens.h"
#include "ops/selection/select24.h"
#include "ops/selection/soft_threshold24.h"
#include "ops/selection/topology.h"
#include "ops/selection/transposable24.h"
#include "ops/selection/venom.h"
#include "ops/update/adamw.h"
#include "ops/update/masked_decay.h"
#include "ops/update/moment_change.h"
#include "ops/update/update_all.h"

namespace twill {
namespace {

using Work = std::function<void()>;

struct Kept final : Recording {
  // A replay that has not run yet shares it.
  std::shared_ptr<const std::vector<Work>> work;
};

class FakeQueue final : public Queue {
 public:
  explicit FakeQueue(const Device& device) : inner_(reference_table().open_queue(device)) {
    open_queues().push_back(this);
  }
  // What nobody waited for is not run: its memory may be gone.
  ~FakeQueue() override { std::erase(open_queues(), this); }

  Queue& inner() { return *inner_; }
  bool is_recording() const { return recorded_ != nullptr; }

  void give(Work work) { (is_recording() ? *recorded_ : waiting_).push_back(std::move(work)); }
  void finish();

  void begin_recording() {
    refuse_while_recording("begin_recording");
    ++counts.recordings;
    recorded_ = std::make_unique<std::vector<Work>>();
  }
  std::unique_ptr<Recording> end_recording() {
    require(is_recording(), "[fake device] end_recording: nothing is being recorded");
    auto kept = std::make_unique<Kept>();
    kept->work = std::exchange(recorded_, nullptr);
    return kept;
  }
  void refuse_while_recording(const char* what) const {
    require(!is_recording(), "[fake device] {} while the queue is recording", what);
  }

  static std::vector<FakeQueue*>& open_queues() {
    static std::vector<FakeQueue*> queues;
    return queues;
  }

  FakeDeviceCounts counts;

 private:
  std::unique_ptr<Queue> inner_;
  std::vector<Work> waiting_;
  std::unique_ptr<std::vector<Work>> recorded_;
};

FakeQueue& fake(Queue& queue) { return static_cast<FakeQueue&>(queue); }

// Pages and a guard page behind them; the block ends where they do.
struct Block {
  std::byte* pages;
  std::size_t size;  // without the guard
};
using Blocks = std::map<const std::byte*, Block>;

Blocks& device_blocks() {
  static Blocks blocks;
  return blocks;
}
Blocks& staging_blocks() {
  static Blocks blocks;
  return blocks;
}

void protect(const Block& block, int protection) {
  require(::mprotect(block.pages, block.size, protection) == 0, "[fake device] mprotect failed");
}

// The device's memory is open while the device works.
class AtWork {
 public:
  AtWork() {
    for (const auto& [data, block] : device_blocks()) protect(block, PROT_READ | PROT_WRITE);
  }
  ~AtWork() {
    for (const auto& [data, block] : device_blocks()) protect(block, PROT_NONE);
  }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
};

void FakeQueue::finish() {
  const std::vector<Work> work = std::exchange(waiting_, {});
  const AtWork open;
  for (const Work& one : work) one();
}

std::int64_t rounded_up(std::int64_t bytes, std::int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::byte* allocate(Blocks& blocks, std::int64_t bytes, int protection) {
  if (bytes == 0) return nullptr;
  for (const FakeQueue* queue : FakeQueue::open_queues()) queue->refuse_while_recording("allocate");
  const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  const std::int64_t size = rounded_up(bytes, page);
  void* mapped = ::mmap(nullptr, static_cast<std::size_t>(size + page), PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  require(mapped != MAP_FAILED, "[fake device] mmap of {} bytes failed", size);
  const Block block{static_cast<std::byte*>(mapped), static_cast<std::size_t>(size)};
  protect(block, protection);
  std::byte* data = block.pages + (size - rounded_up(bytes, 64));
  blocks.emplace(data, block);
  return data;
}

// As on a GPU, queued work on the block is done before it goes.
void release(Blocks& blocks, const std::byte* data) {
  if (data == nullptr) return;
  for (FakeQueue* queue : FakeQueue::open_queues()) queue->finish();
  const Block block = blocks.at(data);
  blocks.erase(data);
  ::munmap(block.pages, block.size + static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
}

const Memory& device_memory() {
  static constexpr Memory kMemory{
      [](std::int64_t bytes) { return allocate(device_blocks(), bytes, PROT_NONE); },
      [](std::byte* data, std::int64_t) { release(device_blocks(), data); }};
  return kMemory;
}

const Memory& staging() {
  static constexpr Memory kMemory{
      [](std::int64_t bytes) { return allocate(staging_blocks(), bytes, PROT_READ | PROT_WRITE); },
      [](std::byte* data, std::int64_t) { release(staging_blocks(), data); }};
  return kMemory;
}

bool is_staged(const std::byte* host) {
  return std::ranges::any_of(staging_blocks(), [&](const auto& entry) {
    const Block& block = entry.second;
    return host >= block.pages && host < block.pages + block.size;
  });
}

void copy_in(std::byte* to, const std::byte* host, std::int64_t bytes, Queue& queue) {
  fake(queue).refuse_while_recording("copy_in");
  const auto count = static_cast<std::size_t>(bytes);
  if (is_staged(host)) return fake(queue).give([=] { std::memcpy(to, host, count); });
  fake(queue).give([to, kept = std::vector<std::byte>(host, host + count)] {
    std::memcpy(to, kept.data(), kept.size());
  });
}

void copy(std::byte* to, const std::byte* from, std::int64_t bytes, Queue& queue) {
  fake(queue).give([=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
}

void wait(Queue& queue) {
  fake(queue).refuse_while_recording("wait");
  ++fake(queue).counts.waits;
  fake(queue).finish();
}

void copy_out(std::byte* host, const std::byte* from, std::int64_t bytes, Queue& queue) {
  fake(queue).refuse_while_recording("copy_out");
  fake(queue).give([=] { std::memcpy(host, from, static_cast<std::size_t>(bytes)); });
  wait(queue);
}

void replay(const Recording& recording, Queue& queue) {
  fake(queue).refuse_while_recording("replay");
  ++fake(queue).counts.replays;
  fake(queue).give([work = static_cast<const Kept&>(recording).work] {
    for (const Work& one : *work) one();
  });
}

DeviceReport find_device(int index, Device&) {
  if (index == 0) return {.usable = true, .text = "fake device"};
  return {.usable = false, .text = "there is one fake device, number 0"};
}

// The kernel that gives the reference's kernel of the same name to the queue.
template <auto op>
struct Given;
template <class Args, Kernel<Args> KernelTable::*op>
struct Given<op> {
  static void run(const Args& args, const Device& device, Queue& queue) {
    fake(queue).give([args, device, &inner = fake(queue).inner()] {
      (reference_table().*op)(args, device, inner);
    });
  }
};

// An op that is missing here runs at once and ends at the closed memory.
template <auto... ops>
void give_all(KernelTable& table) {
  ((table.*ops = table.*ops != nullptr ? Given<ops>::run : nullptr), ...);
}

}  // namespace

KernelTable fake_device_table() {
  using K = KernelTable;
  K table = reference_table();
  table.name = "fake";
  table.packed_bytes = nullptr;  // as on a GPU
  table.memory = device_memory;
  table.open_queue = [](const Device& device) -> std::unique_ptr<Queue> {
    return std::make_unique<FakeQueue>(device);
  };
  table.find_device = find_device;
  table.staging_memory = staging;
  table.copy_in = copy_in;
  table.copy_out = copy_out;
  table.copy = copy;
  table.wait = wait;
  table.free_bytes = [] { return std::int64_t{1} << 30; };
  table.begin_recording = [](Queue& queue) { fake(queue).begin_recording(); };
  table.end_recording = [](Queue& queue) { return fake(queue).end_recording(); };
  table.replay = replay;
  give_all<&K::activation_forward, &K::activation_backward, &K::adamw, &K::attention_forward,
           &K::attention_backward, &K::cached_attention, &K::column_sum, &K::cross_entropy,
           &K::dropout, &K::embedding_forward, &K::embedding_backward, &K::fill, &K::gemm,
           &K::layer_norm_forward, &K::layer_norm_backward, &K::rms_norm_forward,
           &K::rms_norm_backward, &K::rotary, &K::sum_squares, &K::cast, &K::sum, &K::count_targets,
           &K::add_mean, &K::prepare_update, &K::norm_all, &K::adamw_all>(table);
  give_all<&K::apply_mask, &K::cluster_energy, &K::count_nonzero, &K::fp8_round,
           &K::mask_difference, &K::mask_mass, &K::masked_decay, &K::moment_change, &K::mvue24,
           &K::pack24, &K::regrow_moments, &K::route_tokens, &K::select24, &K::soft_threshold24,
           &K::soft_threshold24_sums, &K::topology_update, &K::transposable24, &K::unpack24,
           &K::venom_select>(table);
  give_all<&K::pack_matrix, &K::unpack_matrix, &K::times_packed, &K::packed_times, &K::find_kept,
           &K::gather_kept, &K::scatter_kept, &K::kept_gradient>(table);
  return table;
}

KernelTable packing_fake_device_table() {
  KernelTable table = fake_device_table();
  table.packed_bytes = reference_table().packed_bytes;
  return table;
}

FakeDeviceCounts fake_device_counts(const Context& context) { return fake(context.queue()).counts; }

bool fake_device_records(const Context& context) { return fake(context.queue()).is_recording(); }

}  // namespace twill
