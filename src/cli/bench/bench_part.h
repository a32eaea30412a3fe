// SPDX-License-Identifier: Apache-2.0
// twill bench ffn, twill bench block: one FFN or one whole block, dense and as a phase of a recipe runs
// it, overheads itemised.
#pragma once

#include <string>
#include <vector>

#include "cli/bench/part_probe.h"
#include "cli/bench/ratio_report.h"

namespace twill::cli {

struct PartBench {
  std::string model;   // "FFN 512 -> 2048 -> 512, gelu-tanh, 2048 tokens"
  std::string recipe;  // "fst, phase 0: …"
  RareWork rare;
  struct Variant {
    std::string name;
    double seconds = 0.0;       // median of an ordinary step
    double mean_seconds = 0.0;  // rare work spread over the steps between
    PairedRatio gain = {};      // dense over this, of ordinary steps
    WorkSeconds ops = {};       // per step, rare work included
  };
  std::vector<Variant> variants = {};  // dense first
};

// The gain with rare work.
double whole_gain(const PartBench::Variant& variant);

std::string report_of(const PartBench& bench);
JsonValue json_of(const PartBench& bench);

}  // namespace twill::cli
