// SPDX-License-Identifier: Apache-2.0
// S-STE's analysis of discontinuity: does the loss go where the gradient points, when the mask may
// change? From a checkpoint it takes training steps under a hard projection, and the same steps again
// under a soft one. In every step, all on the batch of this step and with its dropout draws:
//
//   Ws        projection of the weights W; products take Ws forward and backward
//   g         gradient of the loss at Ws (dense wgrad, no MVUE, no FP8, every activation, causal
//             attention, no masked decay), W' what AdamW makes of W with it
//   predicted Σ g (W' - W) over all parameters: first order, straight through
//   frozen    change of the loss with the old mask: hard mask ? w' : 0; soft, on positions where
//             the old Ws is not 0 and with the old group's threshold t, β sign(w') max(|w'| - t, 0)
//   updated   change of the loss with W' projected anew to Ws'
//   along     Σ g (Ws' - Ws), the other parameters as above: first order along the change that the
//             products really see
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/run/run_config.h"

namespace twill {

struct DescentRow {
  std::int64_t step = 0;  // of the run, counted from 1
  double loss = 0.0;      // before the update
  double predicted = 0.0;
  double frozen = 0.0;
  double updated = 0.0;
  double along = 0.0;
  double flip_rate = 0.0;  // share of positions of the layers that became or ceased to be 0
};

// One kind of actual change against one kind of prediction.
struct DescentFit {
  double mean = 0.0;         // actual
  double wrong = 0.0;        // share of steps predicted to go down that went up
  double correlation = 0.0;  // 0 where one side does not vary
  double error = 0.0;        // mean |actual - prediction|
};

struct DescentSeries {
  std::string projection;  // "hard 2:4", "soft 2:4"
  std::vector<DescentRow> rows;

  double mean(double DescentRow::*column) const;
  DescentFit fit(double DescentRow::*actual,
                 double DescentRow::*prediction = &DescentRow::predicted) const;
};

struct DescentProbe {
  std::string checkpoint;
  std::vector<DescentSeries> series;  // hard, then soft
};

struct DescentRequest {
  std::string run;  // a run or one of its checkpoints
  std::string runs_dir = "runs";
  std::int64_t steps = 20;
  std::string pattern;  // of the hard projection; empty: the recipe's
  std::int64_t threads = 0;
};

// Leaves the run as it is.
DescentProbe probe_descent(const DescentRequest& request);

}  // namespace twill
