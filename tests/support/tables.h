// SPDX-License-Identifier: Apache-2.0
// What runs an op in a test: a table, a number of threads, an element type and a misalignment.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ops/kernel_table.h"
#include "support/buffer.h"
#include "support/seeds.h"

namespace twill {

struct Setup {
  const KernelTable* table;
  int threads = 1;
  int offset = 0;  // elements by which every operand misses its alignment
  DType dtype = DType::kF32;

  Buffer buffer(const Values& values) const { return Buffer(values, dtype, offset); }
};

inline Setup with_threads(Setup setup, int threads) {
  setup.threads = threads;
  return setup;
}

// The judge's own computation: the reference backend in f64.
inline Setup oracle() { return {.table = &reference_table(), .dtype = DType::kF64}; }
// The reference in f32: what ops owe that are exact to the bit.
inline Setup exact_oracle() { return {.table = &reference_table()}; }

inline std::vector<const KernelTable*> tables_under_test() {
  return {&reference_table(), &cpu_table()};
}

// The reference has one thread and no alignment to miss; the others get every awkward combination.
inline std::vector<Setup> setups_under_test() {
  std::vector<Setup> setups;
  for (const KernelTable* table : tables_under_test()) {
    setups.push_back({.table = table});
    if (table == &reference_table()) continue;
    setups.push_back({.table = table, .threads = 1, .offset = 1});
    setups.push_back({.table = table, .threads = 2});
    setups.push_back({.table = table, .threads = 3, .offset = 1});
  }
  return setups;
}

inline std::string name_of(const Setup& setup) {
  return fmt::format("{}_threads{}_offset{}", setup.table->name, setup.threads, setup.offset);
}
inline std::string setup_name(const testing::TestParamInfo<Setup>& info) {
  return name_of(info.param);
}
// GoogleTest shows parameters through this, and CTest takes its test names from there.
inline void PrintTo(const Setup& setup, std::ostream* out) { *out << name_of(setup); }

// Base of all suites that run over the tables.
class TableTest : public testing::TestWithParam<Setup> {
 private:
  testing::ScopedTrace seed_{__FILE__, __LINE__, seed_note()};
};

// Base of plain suites with random data.
class SeededTest : public testing::Test {
 private:
  testing::ScopedTrace seed_{__FILE__, __LINE__, seed_note()};
};

}  // namespace twill
