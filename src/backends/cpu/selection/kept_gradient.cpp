// SPDX-License-Identifier: Apache-2.0
// The gradient of a weight at its kept positions on the cpu.
//
// Tokens go by in waves of 256. All threads share the panels of x of a wave: every 64 tokens of it,
// feature-major. Each task takes its rows of dy through the wave, 64 tokens at a time, and adds what
// they give to its sums. An entry belongs to one task and its tokens come in ascending order, so the
// number of threads changes no bit.
//
// All of it is one list of steps: while the last tasks of a wave run, other threads transpose the
// panels of the next ones. With a join after each wave, threads would fall asleep eight times in
// 2048 tokens, and on a busy machine take up to a tick of the scheduler to come back.
//
// Bound by loads from the L1 cache: one vector of x for each FMA.
#include <algorithm>
#include <atomic>
#include <thread>

#include <hwy/cache_control.h>

#include "backends/cpu/kernels.h"
#include "backends/cpu/queue.h"
#include "backends/cpu/selection/kept_plan.h"
#include "backends/cpu/selection/kept_simd.h"
#include "ops/selection/kept.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kWaveBlocks = 4;
constexpr std::int64_t kWave = kWaveBlocks * kKeptTokens;
// Panels of so many waves lie in the L3 cache: 3 KB per column. One is read, one is written, and one
// may still be read by the last task of the wave before.
constexpr std::int64_t kWavesAtHand = 3;
constexpr std::int64_t kPieceColumns = 256;  // transposed in one step; whole tiles

std::int64_t pieces(std::int64_t extent, std::int64_t piece) {
  return (extent + piece - 1) / piece;
}

// How many steps of some kind have finished.
using Finished = std::atomic<std::int64_t>;

// Steps start in ascending order and wait for earlier ones only, which are under way.
void wait_for(const Finished& finished, std::int64_t count) {
  constexpr int kSpins = 20'000;  // about 400 us
  for (int spin = 0; finished.load(std::memory_order_acquire) < count; ++spin)
    spin < kSpins ? hwy::Pause() : std::this_thread::yield();
}

class Gradient {
 public:
  Gradient(const KeptGradientArgs& args, const Device& device, KeptScratch& scratch)
      : args_(args),
        plan_(cut_kept(args.kept, args.cols(), device.num_threads, scratch)),
        num_waves_(pieces(args.m(), kWave)),
        num_pieces_(pieces(args.cols(), kPieceColumns)),
        panel_size_(pieces(args.cols(), kKeptTile) * kKeptTile * kKeptTokens),
        x_panels_(
            scratch.take<float>(KeptScratch::kInputPanels,
                                std::min(num_waves_, kWavesAtHand) * kWaveBlocks * panel_size_)),
        dy_panels_(scratch.take<float>(KeptScratch::kRowPanels,
                                       device.num_threads * kKeptTaskRows * kKeptTokens)),
        transposed_(
            scratch.take<Finished>(KeptScratch::kFinished, 2 * num_waves_ + plan_.num_tasks)),
        summed_(transposed_ + num_waves_),
        waves_of_task_(summed_ + num_waves_) {
    for (std::int64_t i = 0; i < 2 * num_waves_ + plan_.num_tasks; ++i) transposed_[i].store(0);
  }

  // The panels of the first wave; then for each wave the panels of the next one and its own sums.
  void run(Queue& queue) const {
    const std::int64_t transposes = kWaveBlocks * num_pieces_;
    const std::int64_t steps = transposes + plan_.num_tasks;
    run_tasks(queue, transposes + num_waves_ * steps, [&](std::int64_t index, int thread) {
      if (index < transposes) return transpose_x(0, index);
      const std::int64_t wave = (index - transposes) / steps, place = (index - transposes) % steps;
      if (place < transposes) return transpose_x(wave + 1, place);
      sum_wave(place - transposes, wave, dy_panels_ + thread * kKeptTaskRows * kKeptTokens);
    });
  }

 private:
  std::int64_t tokens_from(std::int64_t token) const {
    return std::min(kKeptTokens, args_.m() - token);
  }
  float* x_panel(std::int64_t wave, std::int64_t block) const {
    return x_panels_ + (wave % kWavesAtHand * kWaveBlocks + block) * panel_size_;
  }

  void transpose_x(std::int64_t wave, std::int64_t piece) const {
    const std::int64_t block = piece / num_pieces_, col = piece % num_pieces_ * kPieceColumns;
    const std::int64_t C = args_.cols(), token = wave * kWave + block * kKeptTokens;
    if (wave >= num_waves_) return;
    if (wave >= kWavesAtHand) wait_for(summed_[wave - kWavesAtHand], plan_.num_tasks);
    if (token < args_.m())
      transpose_tokens(args_.x.as<float>() + token * C + col, C, tokens_from(token),
                       std::min(kPieceColumns, C - col), x_panel(wave, block) + col * kKeptTokens);
    transposed_[wave].fetch_add(1, std::memory_order_release);
  }

  void sum_wave(std::int64_t task, std::int64_t wave, float* dy_panel) const {
    if (wave == 0) plan_task(args_.kept, plan_, task);
    wait_for(waves_of_task_[task], wave);
    wait_for(transposed_[wave], kWaveBlocks * num_pieces_);
    for (std::int64_t block = 0; block < kWaveBlocks; ++block) {
      const std::int64_t token = wave * kWave + block * kKeptTokens;
      const std::int64_t next = std::min(block + 1, kWaveBlocks - 1);
      if (token < args_.m())
        sum_block(task, token, x_panel(wave, block), x_panel(wave, next), dy_panel);
    }
    if (wave == num_waves_ - 1) place_sums(plan_, task, args_.accumulate, args_.values.as<float>());
    waves_of_task_[task].fetch_add(1, std::memory_order_release);
    summed_[wave].fetch_add(1, std::memory_order_release);
  }

  // What one block of tokens gives to the sums of a task.
  void sum_block(std::int64_t task, std::int64_t token, const float* x, const float* next_x,
                 float* dy_panel) const {
    const auto [row_begin, row_end] = plan_.tasks[task];
    const std::int64_t R = args_.kept.rows();
    transpose_tokens(args_.dy.as<float>() + token * R + row_begin, R, tokens_from(token),
                     row_end - row_begin, dy_panel);
    for (std::int64_t chunk = 0; chunk < plan_.num_chunks; ++chunk) {
      const KeptCell& cell = plan_.cell(task, chunk);
      const std::int64_t panel = chunk * kKeptColumns * kKeptTokens;
      add_kept_products(
          {.dy = dy_panel,
           .x = x + panel,
           .next_x = chunk + 1 < plan_.num_chunks ? x + panel + kKeptColumns * kKeptTokens : next_x,
           .runs = plan_.runs + cell.first_run,
           .num_runs = cell.num_runs,
           .offset = plan_.offset + cell.first_sum,
           .sums = plan_.sums + cell.first_sum,
           .add = token > 0});
    }
  }

  const KeptGradientArgs& args_;
  KeptPlan plan_;
  std::int64_t num_waves_;
  std::int64_t num_pieces_;
  std::int64_t panel_size_;
  float* x_panels_;          // (waves at hand, blocks, columns, 64)
  float* dy_panels_;         // (threads, rows of a task, 64)
  Finished* transposed_;     // (waves), pieces of x
  Finished* summed_;         // (waves), tasks
  Finished* waves_of_task_;  // (tasks)
};

}  // namespace

void kept_gradient(const KeptGradientArgs& args, const Device& device, Queue& queue) {
  if (args.kept.count() == 0) return;
  if (args.m() == 0 && !args.accumulate)
    std::fill_n(args.values.as<float>(), args.kept.count(), 0.0f);
  if (args.m() == 0) return;
  Gradient(args, device, cpu_queue(queue).kept_scratch()).run(queue);
}

}  // namespace twill::cpu
