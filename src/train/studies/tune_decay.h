// SPDX-License-Identifier: Apache-2.0
// Chooses the strength of masked decay by flip rates (FST): short runs with several strengths against
// a dense run whose mask is computed but not applied.
//
//   r    mean flip rate of the dense run, r' of a sparse one; flip rate = share of mask bits that one
//        optimizer step changes, also where the recipe refreshes its mask more rarely; sampled at the
//        same steps, mean over the samples of the last quarter
//   mu   r' / r: above 0.95 the mask thrashes, below 0.60 it is frozen too early
//
// All runs share seed, data order, learning rates (those of the config's whole length) and refresh
// interval. No files but the list of results, no terminal.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "train/run/run_config.h"

namespace twill {

constexpr double kLowestMu = 0.60, kHighestMu = 0.95, kBestMu = 0.80;

struct DecayTuneRequest {
  std::string config_file;             // may be empty
  std::vector<std::string> overrides;  // key=value
  std::int64_t steps = 0;              // of each run; 0: the warm-up, at least 80
  std::vector<double> lambdas;         // empty: {0, 6e-7, 2e-6, …, 2e-3}
  std::string folder;                  // of tune.jsonl; empty: one in run.dir named by the settings
};

struct DecayTrial {
  std::optional<double> lambda;  // absent: the dense run
  double flip_rate = 0.0;
  double loss = 0.0;      // of the training batches, mean over the last quarter
  bool diverged = false;  // loss or gradient was not finite: the other numbers say nothing
  bool kept = false;      // an earlier call has done this run
};

struct DecayTuning {
  std::string recipe;
  std::string phase;  // what is trained, in words
  std::int64_t phase_index = 0;
  std::int64_t steps = 0;
  std::int64_t every = 1;  // steps between samples
  std::string file;        // tune.jsonl
  DecayTrial dense;
  std::vector<DecayTrial> trials;  // by growing lambda
  bool interrupted = false;

  double mu(const DecayTrial& trial) const { return trial.flip_rate / dense.flip_rate; }
  // "thrashes", "in the window", "frozen early" or "diverged".
  std::string verdict(const DecayTrial& trial) const;
  // Of those in the window the one with mu nearest 0.8; of equals the weaker one.
  const DecayTrial* chosen() const;
  // Where no trial is in the window: which side they lie on, and what to try.
  std::string advice() const;
};

struct DecayTuneListener {
  std::function<void(const DecayTuning&)> on_begin = {};  // settings known, nothing run yet
  std::function<void(const DecayTuning&, const DecayTrial&)> on_trial =
      {};  // of a run that is done
};

// Runs what tune.jsonl does not have yet. Throws twill::Error; where the file belongs to other
// settings too.
DecayTuning tune_decay(const DecayTuneRequest& request, const std::atomic<bool>& stop,
                       const DecayTuneListener& listener);

// The two kinds of runs, for tests: the recipe's phase alone with this strength, and a dense run with
// the same mask, computed but not applied.
RecipeConfig decaying_recipe(const RecipeConfig& recipe, std::size_t phase, double lambda);
RecipeConfig dense_recipe(const RecipeConfig& recipe, std::size_t phase);

}  // namespace twill
