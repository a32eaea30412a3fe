// SPDX-License-Identifier: Apache-2.0
// One FFN or one block with its sparsity and without the rest of a model: forward, backward, and what a
// step does to masks and packed weights. The optimizer's own work is left out; of masked decay on a device,
// where AdamW does it on its way, what that pass takes longer is told apart.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bench/phase_alone.h"
#include "cli/bench/probed_part.h"
#include "sparsity/engine/engine.h"
#include "train/run/run_config.h"
#include "train/step/optimizer.h"

namespace twill::cli {

enum class PartExecution : std::uint8_t { kDense, kMasked, kPacked, kPlanned };
const char* name_of(PartExecution execution);

// What PartProbe::decay_inside_update() is called among ops.
inline constexpr const char* kDecayInUpdate = "adamw_all_decay";

// Where the seconds of a step go, by op or by kind of work.
using WorkSeconds = std::map<std::string, double>;

class PartProbe {
 public:
  // `config` holds one phase (phase_alone.h).
  PartProbe(Context& context, const RunConfig& config, PartKind part, PartExecution execution);
  PartProbe(const PartProbe&) = delete;
  PartProbe& operator=(const PartProbe&) = delete;

  // A step that does no rare work.
  void ordinary_step();
  // The next one that does, with the step behind it.
  void rare_step_and_next();
  const RareWork& rare() const { return rare_; }

  // Of every op, per step, rare work spread over the steps between.
  WorkSeconds profile();

  // What masked decay adds to a pass of AdamW, in seconds; 0 where steps have it as work of its own, or
  // have none.
  double decay_inside_update();

 private:
  void step();
  template <class Body>
  WorkSeconds profile_of(const Body& body);
  bool decays_apart() const;

  Context& context_;
  const RunConfig& config_;
  RareWork rare_;
  Plan plan_;
  Builder builder_;
  std::unique_ptr<ProbedPart> part_;
  Optimizer optimizer_;
  SparsityEngine engine_;
  std::int64_t step_ = 0;
};

// The kinds in the order of a report: products first, everything else last.
const std::vector<std::string>& work_kinds();
// The kind that an op's time belongs to.
std::string work_kind(std::string_view op);
// The seconds of ops by their kinds.
WorkSeconds by_kind(const WorkSeconds& ops);

}  // namespace twill::cli
