// SPDX-License-Identifier: Apache-2.0
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "base/thread_pool.h"
#include "cli/commands.h"
#include "ops/kernel_table.h"
#include "twill/version.h"

namespace twill::cli {
namespace {

std::string cpu_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown";
}

}  // namespace

int run_info() {
  fmt::print("twill       {}\n", kVersion);
  fmt::print("cpu         {} · {} threads\n", cpu_name(), default_num_threads());
  for (const KernelTable* table : {&cpu_table(), &reference_table()})
    fmt::print("backend     {:<10}{}\n", table->name, table->describe());
  if (cuda_table() == nullptr) {
    fmt::print("gpu         none: this build has no CUDA backend\n");
  } else {
    fmt::print("backend     {:<10}{}\n", cuda_table()->name, cuda_table()->describe());
  }
  return kDone;
}

}  // namespace twill::cli
