// SPDX-License-Identifier: Apache-2.0
// How most breakages are written: a function that gets the arguments and the good kernel, and
// spoils the one or the other's result.
#pragma once

#include <vector>

#include "papers/broken.h"
#include "tensor/view.h"

namespace twill {

template <auto kOp, auto kBreak, auto kGood, class Args>
void run_spoiled(const Args& args, const Device& device, Queue& queue) {
  kBreak(args, [&](const Args& given) { (kGood().*kOp)(given, device, queue); });
}

// kBreak(const Args&, run), where run(const Args&) is the good kernel of the same backend.
template <auto kOp, auto kBreak>
void spoil(KernelTable& table) {
  if (&good_table(table) == &cpu_table()) {
    table.*kOp = run_spoiled<kOp, kBreak, cpu_table>;
  } else {
    table.*kOp = run_spoiled<kOp, kBreak, reference_table>;
  }
}

// The good kernel on arguments that kChange has changed.
template <auto kOp, auto kChange>
void spoil_arguments(KernelTable& table) {
  spoil<kOp, [](const auto& args, const auto& run) {
    auto changed = args;
    kChange(changed);
    run(changed);
  }>(table);
}

template <class T>
std::vector<T> copy_of(const ConstView& view) {
  return std::vector<T>(view.as<T>(), view.as<T>() + view.num_elements());
}

}  // namespace twill
