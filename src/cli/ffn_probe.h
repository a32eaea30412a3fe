// SPDX-License-Identifier: Apache-2.0
// One FFN with its sparsity and without the rest of a model: forward, backward, and what a step does
// to masks and packed weights. The optimizer's own work is left out.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "cli/phase_alone.h"
#include "nn/feed_forward.h"
#include "sparsity/engine.h"
#include "train/run_config.h"

namespace twill::cli {

enum class FfnExecution : std::uint8_t { kDense, kMasked, kPacked, kPlanned };
const char* name_of(FfnExecution execution);

// Where the seconds of a step go, by kind of work.
using WorkSeconds = std::map<std::string, double>;

class FfnProbe {
 public:
  // `config` holds one phase (phase_alone.h).
  FfnProbe(Context& context, const RunConfig& config, FfnExecution execution);
  FfnProbe(const FfnProbe&) = delete;
  FfnProbe& operator=(const FfnProbe&) = delete;

  // A step that does no rare work.
  void ordinary_step();
  // The next one that does, with the step behind it.
  void rare_step_and_next();
  const RareWork& rare() const { return rare_; }

  // Per step, rare work spread over the steps between.
  WorkSeconds profile();

 private:
  void step();
  template <class Body>
  WorkSeconds profile_of(const Body& body);
  void fill_random(View view, std::uint64_t stream) const;

  Context& context_;
  const RunConfig& config_;
  RareWork rare_;
  Plan plan_;
  Builder builder_;
  FeedForward ffn_;
  View x_, residual_, out_, dout_, dx_;  // (tokens, width)
  std::map<const Parameter*, Moments> moments_;
  SparsityEngine engine_;
  std::int64_t step_ = 0;
};

// The kinds in the order of a report: products first, everything else last.
const std::vector<std::string>& work_kinds();
// The kind that an op's time belongs to.
std::string work_kind(std::string_view op);

}  // namespace twill::cli
