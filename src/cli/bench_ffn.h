// SPDX-License-Identifier: Apache-2.0
// twill bench ffn: one FFN dense and as a phase of a recipe runs it, overheads itemised.
#pragma once

#include <string>
#include <vector>

#include "cli/ffn_probe.h"
#include "cli/paired_ratio.h"

namespace twill::cli {

struct FfnBench {
  std::string model;   // "FFN 512 -> 2048 -> 512, gelu-tanh, 2048 tokens"
  std::string recipe;  // "fst, phase 0: …"
  RareWork rare;
  struct Variant {
    std::string name;
    double seconds = 0.0;       // median of an ordinary step
    double mean_seconds = 0.0;  // rare work spread over the steps between
    PairedRatio gain = {};      // dense over this, of ordinary steps
    WorkSeconds work = {};      // per step, rare work included
  };
  std::vector<Variant> variants = {};  // dense first
};

// The gain with rare work.
double whole_gain(const FfnBench::Variant& variant);

std::string report_of(const FfnBench& bench);
JsonValue json_of(const FfnBench& bench);

}  // namespace twill::cli
