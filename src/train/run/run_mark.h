// SPDX-License-Identifier: Apache-2.0
// What ties a checkpoint to its run: run.safetensors, a file of a checkpoint that holds no tensors.
// It is apart from the state, because equal states of two runs are equal bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/folder.h"
#include "ops/context.h"
#include "train/run/run_config.h"
#include "train/step/trainer.h"

namespace twill {

struct RunMark {
  std::string run;  // run.id; empty: the run was begun by a build that had none
  std::int64_t step = 0;
  std::string config;      // every key that decides what is learnt (io/config_lines.h)
  std::string arithmetic;  // instruction sets and libraries that decide bits
  std::string runs;        // what is trained (sparsity/plan/what_runs.h); empty: dense
};

RunMark mark_of(const Trainer& trainer);
void write_mark(const Folder& checkpoint, const RunMark& mark, const std::string& weights);
// Empty for a checkpoint of an earlier build. Throws where the file is no safetensors file of ours.
std::optional<RunMark> read_mark(const std::string& checkpoint);

// "cpu: AVX-512 by Highway 1.0.3, oneDNN 2.6.3; glibc 2.36".
std::string arithmetic_of(const Context& context);

// Says where the checkpoint was made by other arithmetic than that of this process.
void warn_of_other_arithmetic(const std::string& checkpoint, const Context& context);

}  // namespace twill
