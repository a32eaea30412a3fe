// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <fmt/format.h>

#include "base/build_facts.h"
#include "base/machine.h"
#include "base/thread_pool.h"
#include "cli/commands.h"
#include "cli/screen/text_format.h"
#include "ops/kernel_table.h"
#include "twill/version.h"

namespace twill::cli {
namespace {

// Power, memory and clock, as far as the driver tells them.
std::string reading_text(const DeviceReadings& readings) {
  std::string text;
  const auto add = [&](const std::string& field) { text += (text.empty() ? "" : " · ") + field; };
  if (readings.power_watts) add(fmt::format("{:.0f} W", *readings.power_watts));
  if (readings.memory_bytes) add(format_bytes(*readings.memory_bytes) + " in use");
  if (readings.clock_hz) add(fmt::format("{:.0f} MHz", *readings.clock_hz / 1e6));
  return text;
}

void print_gpu(const KernelTable& table) {
  fmt::print("backend     {:<10}{}\n", table.name, table.describe());
  Device device;
  if (table.readings == nullptr || !table.find_device(0, device).usable) return;
  const std::string text = reading_text(table.readings(device));
  if (!text.empty()) fmt::print("gpu         {}\n", text);
}

}  // namespace

int run_info() {
  const std::string cpu = cpu_name();
  fmt::print("twill       {} · commit {}\n", kVersion, build_facts().commit);
  fmt::print("cpu         {} · {} threads\n", cpu.empty() ? "unknown" : cpu, default_num_threads());
  for (const KernelTable* table : {&cpu_table(), &reference_table()})
    fmt::print("backend     {:<10}{}\n", table->name, table->describe());
  if (cuda_table() == nullptr) {
    fmt::print("gpu         none: this build has no CUDA backend\n");
  } else {
    print_gpu(*cuda_table());
  }
  return kDone;
}

}  // namespace twill::cli
