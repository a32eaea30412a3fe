// SPDX-License-Identifier: Apache-2.0
// What the paper tests run on, and how they are put on trial: with TWILL_BREAK=NAME in the
// environment one kernel breaks one rule of its contract, and at least one of the paper tests that
// carry the rule must fail. tools/break_ops.sh goes through all names.
#pragma once

#include <string>
#include <vector>

#include "ops/kernel_table.h"

namespace twill {

// `change` gets a copy of a backend's table and replaces kernels in it; `good` is the table as it
// was, for kernels that run the good one and then spoil its result.
struct Breakage {
  std::string name;    // "select24.ties"
  std::string filter;  // gtest filter of the tests that must notice: "Fst_A*"
  void (*change)(KernelTable& table);
};

// Put one at namespace scope of a source file per breakage.
class RegisterBreakage {
 public:
  RegisterBreakage(std::string name, std::string filter, void (*change)(KernelTable&));
};

const std::vector<Breakage>& breakages();

// Literal vectors run on each of these: reference and cpu, broken if TWILL_BREAK says so.
std::vector<const KernelTable*> paper_tables();
// Statistics over millions of numbers run on this one: cpu, broken likewise.
const KernelTable& fast_paper_table();

// The whole tables, for a breakage that runs the good kernel first: the one that `table` came from.
const KernelTable& good_table(const KernelTable& table);

}  // namespace twill
