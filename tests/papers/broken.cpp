// SPDX-License-Identifier: Apache-2.0
#include "papers/broken.h"

#include <cstdlib>
#include <iostream>
#include <string_view>

#include "base/require.h"

namespace twill {
namespace {

std::vector<Breakage>& registry() {
  static std::vector<Breakage> all;
  return all;
}

const Breakage* wanted() {
  const char* name = std::getenv("TWILL_BREAK");
  if (name == nullptr) return nullptr;
  for (const Breakage& breakage : registry())
    if (breakage.name == name) return &breakage;
  fail("TWILL_BREAK={}: no breakage of this name", name);
}

KernelTable broken(const KernelTable& good) {
  KernelTable table = good;
  if (const Breakage* breakage = wanted()) breakage->change(table);
  return table;
}

const KernelTable& paper_reference() {
  static const KernelTable table = broken(reference_table());
  return table;
}

}  // namespace

RegisterBreakage::RegisterBreakage(std::string name, std::string filter,
                                   void (*change)(KernelTable&)) {
  registry().push_back({std::move(name), std::move(filter), change});
}

const std::vector<Breakage>& breakages() { return registry(); }

std::vector<const KernelTable*> paper_tables() { return {&paper_reference(), &fast_paper_table()}; }

const KernelTable& fast_paper_table() {
  static const KernelTable table = broken(cpu_table());
  return table;
}

const KernelTable& good_table(const KernelTable& table) {
  return std::string_view(table.name) == reference_table().name ? reference_table() : cpu_table();
}

}  // namespace twill
