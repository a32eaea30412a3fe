// SPDX-License-Identifier: Apache-2.0
// What runs an op in a test: a table, a number of threads, an element type and a misalignment.
#pragma once

#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ops/context.h"
#include "ops/kernel_table.h"
#include "support/buffer.h"
#include "support/seeds.h"

namespace twill {

struct Setup {
  const KernelTable* table;
  int threads = 1;
  int offset = 0;  // elements by which every operand misses its alignment
  DType dtype = DType::kF32;

  // Kernels of a device share one queue, so that buffers see what ops have done.
  std::shared_ptr<const Context> context() const {
    if (table->copy_in == nullptr) return std::make_shared<const Context>(*table, threads);
    static std::map<const KernelTable*, std::shared_ptr<const Context>> shared;
    std::shared_ptr<const Context>& context = shared[table];
    if (context == nullptr) context = std::make_shared<const Context>(*table, threads);
    return context;
  }

  // An operand of the type under test, of its wide type, or of a type of its own.
  Buffer buffer(const Values& values) const { return buffer(values, dtype); }
  Buffer wide(const Values& values) const { return buffer(values, wide_type(dtype)); }
  Buffer buffer(const Values& values, DType type) const {
    return Buffer(values, type, offset, table->copy_in != nullptr ? context() : nullptr);
  }
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

// The same and, where there is a GPU, the cuda table in both its types: for ops that it has.
inline std::vector<Setup> setups_with_device() {
  std::vector<Setup> setups = setups_under_test();
  Device device;
  if (cuda_table() == nullptr || !cuda_table()->find_device(0, device).usable) return setups;
  for (const DType dtype : {DType::kF32, DType::kBf16})
    for (const int offset : {0, 1})
      setups.push_back({.table = cuda_table(), .offset = offset, .dtype = dtype});
  return setups;
}

inline std::string name_of(const Setup& setup) {
  const char* type = setup.dtype == DType::kBf16 ? "_bf16" : "";
  return fmt::format("{}_threads{}_offset{}{}", setup.table->name, setup.threads, setup.offset,
                     type);
}
inline std::string setup_name(const testing::TestParamInfo<Setup>& info) {
  return name_of(info.param);
}
// GoogleTest shows parameters through this, and CTest takes its test names from there.
inline void PrintTo(const Setup& setup, std::ostream* out) { *out << name_of(setup); }

// Base of all suites that run over the tables.
class TableTest : public testing::TestWithParam<Setup> {
 protected:
  // Data that the type under test holds exactly.
  void SetUp() override { drawn_type() = GetParam().dtype; }
  void TearDown() override { drawn_type() = DType::kF32; }

 private:
  testing::ScopedTrace seed_{__FILE__, __LINE__, seed_note()};
};

// Base of plain suites with random data.
class SeededTest : public testing::Test {
 private:
  testing::ScopedTrace seed_{__FILE__, __LINE__, seed_note()};
};

}  // namespace twill
