// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/dropout.h"

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"
#include "base/rng.h"

namespace twill::reference {
namespace {

bool keep(const DropoutArgs& args, std::int64_t i) {
  const auto index = static_cast<std::uint64_t>(i);
  const std::uint64_t element = (args.stream << 40) + index / 4;
  const std::uint32_t step =
      args.step_at ? static_cast<std::uint32_t>(*args.step_at.as<std::int32_t>()) : args.step;
  const Philox4 words = random_bits(args.seed, Purpose::kDropout, step, element);
  return unit_float(words[index % 4]) >= args.p;
}

template <class T>
void run(const DropoutArgs& args) {
  const T* x = args.x.as<T>();
  const T* addend = data_or_null<T>(args.addend);
  T* y = args.y.as<T>();
  // In the storage type, because the bits of f32 are part of the contract.
  const T scale = static_cast<T>(1.0 / (1.0 - args.p));
  for (std::int64_t i = 0; i < args.x.num_elements(); ++i) {
    const T kept = keep(args, i) ? x[i] * scale : T{0};
    y[i] = addend != nullptr ? addend[i] + kept : kept;
  }
}

}  // namespace

void dropout(const DropoutArgs& args, const Device&, Queue&) {
  with_element_type(args.x.dtype(), [&]<class T>(T) { run<T>(args); });
}

}  // namespace twill::reference
