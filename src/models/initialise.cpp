// SPDX-License-Identifier: Apache-2.0
#include "models/initialise.h"

#include <algorithm>

#include "base/hash.h"
#include "base/rng.h"
#include "base/thread_pool.h"

namespace twill {
namespace {

// Each pair of elements has a draw of its own, so any division among threads gives the same numbers.
template <class T>
void fill_normal(ThreadPool& pool, Parameter& parameter, std::uint64_t seed,
                 std::uint32_t name_hash) {
  constexpr std::int64_t kPairs = 32768;  // some 2 ms of one core
  T* values = parameter.value.as<T>();
  const std::int64_t count = parameter.value.num_elements();
  const auto fill_pairs = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t pair = begin; pair < end; ++pair) {
      const Philox4 bits =
          random_bits(seed, Purpose::kInit, name_hash, static_cast<std::uint64_t>(pair));
      for (std::int64_t j = 2 * pair; j < std::min(2 * pair + 2, count); ++j) {
        const auto word = static_cast<std::size_t>(2 * (j - 2 * pair));
        values[j] = static_cast<T>(static_cast<float>(
            parameter.init_std * static_cast<double>(normal_float(bits[word], bits[word + 1]))));
      }
    }
  };
  parallel_for(pool, (count + 1) / 2, kPairs, fill_pairs);
}

template <class T>
void initialise_one(ThreadPool& pool, Parameter& parameter, std::uint64_t seed) {
  if (parameter.init == Init::kNormal) {
    const auto name_hash =
        static_cast<std::uint32_t>(hash_bytes(parameter.name.data(), parameter.name.size()));
    fill_normal<T>(pool, parameter, seed, name_hash);
    return;
  }
  T* values = parameter.value.as<T>();
  std::fill_n(values, parameter.value.num_elements(), parameter.init == Init::kOnes ? T{1} : T{0});
}

}  // namespace

void initialise(std::deque<Parameter>& parameters, std::uint64_t seed) {
  ThreadPool pool(default_num_threads());
  for (Parameter& parameter : parameters) {
    if (parameter.value.dtype() == DType::kF64) {
      initialise_one<double>(pool, parameter, seed);
    } else {
      initialise_one<float>(pool, parameter, seed);
    }
  }
}

}  // namespace twill
