// SPDX-License-Identifier: Apache-2.0
// How a kernel of the reference table is broken for the trial of the checks.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "ops/checks.h"

namespace twill {

struct Mutation {
  std::string name;
  testing::AssertionResult (*check)(const Setup&);
  void (*mutate)(KernelTable&);
  int threads = 1;
};

// The good kernel on bad arguments.
template <auto kKernel, auto kChange, class Args>
void run_changed(const Args& args, const Device& device, Queue& queue) {
  Args broken = args;
  kChange(broken);
  (reference_table().*kKernel)(broken, device, queue);
}
template <auto kKernel, auto kChange>
void change(KernelTable& table) {
  table.*kKernel = run_changed<kKernel, kChange>;
}

// A bad kernel.
template <auto kKernel, auto kBroken>
void replace(KernelTable& table) {
  table.*kKernel = kBroken;
}

template <class Byte>
auto floats(const BasicView<Byte>& view) {
  return std::span(view.template as<float>(), static_cast<std::size_t>(view.num_elements()));
}
template <class T>
std::vector<T> copy_of(const ConstView& view) {
  return std::vector<T>(view.as<T>(), view.as<T>() + view.num_elements());
}

inline void PrintTo(const Mutation& mutation, std::ostream* out) { *out << mutation.name; }
inline std::string mutation_name(const testing::TestParamInfo<Mutation>& tested) {
  return tested.param.name;
}

inline void expect_rejected(const Mutation& mutation) {
  KernelTable broken = reference_table();
  broken.name = "broken";
  mutation.mutate(broken);
  const testing::AssertionResult verdict =
      mutation.check({.table = &broken, .threads = mutation.threads});
  EXPECT_FALSE(verdict);
  testing::Test::RecordProperty("verdict", verdict.message());
}

}  // namespace twill
