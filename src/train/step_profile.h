// SPDX-License-Identifier: Apache-2.0
// Where the time of a step goes, and the least it could take: the GEMM floor is the time of the
// step's own matrix products alone, each the best of a few warm calls on the step's own buffers.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ops/context.h"
#include "ops/gemm.h"

namespace twill {

// All products of one shape and form in a step.
struct ProductTime {
  GemmArgs args;  // one of them
  std::int64_t count = 0;
  double seconds = 0.0;        // best of the calls, of one product
  double plain_seconds = 0.0;  // the same by the library's own threaded call; 0 when not measured

  double flops() const {
    return 2.0 * static_cast<double>(args.m()) * static_cast<double>(args.n()) *
           static_cast<double>(args.k());
  }
};

struct OpTime {
  std::int64_t calls = 0;
  double seconds = 0.0;
};

class StepProfile : public OpObserver {
 public:
  // On a device every op is waited for: the sum of the ops is then more than the step.
  explicit StepProfile(const Context& context) : context_(context) {}

  void before(std::string_view op) override;
  void after(std::string_view op) override;
  void gemm(const GemmArgs& args) override;

  const std::map<std::string, OpTime, std::less<>>& ops() const { return ops_; }

  // Times every distinct product, best of `repeats`. Overwrites the products' outputs, so only
  // between steps, when activations and gradients are dead.
  std::vector<ProductTime> measure_products(const Context& context, int repeats,
                                            bool with_plain) const;

 private:
  using Clock = std::chrono::steady_clock;
  const Context& context_;
  std::map<std::string, OpTime, std::less<>> ops_;
  Clock::time_point started_;
  std::vector<ProductTime> products_;
};

double floor_seconds(const std::vector<ProductTime>& products);

}  // namespace twill
