// SPDX-License-Identifier: Apache-2.0
// Where the time of a step goes, and the least it could take: the GEMM floor is the time of the
// step's own matrix products alone, each the best of a few warm calls on the step's own buffers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ops/context.h"
#include "ops/products/gemm.h"
#include "sparsity/plan/explain_plan.h"

namespace twill {

// All products of one shape and form in a step.
struct ProductTime {
  GemmArgs args;  // one of them
  std::int64_t count = 0;
  double seconds = 0.0;        // best of the calls, of one product
  double plain_seconds = 0.0;  // the same by the library's own threaded call; 0 when not measured

  double flops() const { return counted_flops(args); }
};

// Notes the products of a step and stops nothing.
class ProductLog : public OpObserver {
 public:
  void before(std::string_view) override {}
  void after(std::string_view, const OpWork&) override {}
  void gemm(const GemmArgs& args) override;

  // Times every distinct product, best of `repeats`. Overwrites the products' outputs, so only
  // between steps, when activations and gradients are dead.
  std::vector<ProductTime> measure_products(const Context& context, int repeats,
                                            bool with_plain) const;

 private:
  std::vector<ProductTime> products_;
};

// All calls of one op.
struct OpTime {
  std::int64_t calls = 0;
  double seconds = 0.0;
  double bytes = 0.0;  // ops/moved_bytes.h
  double flops = 0.0;
};

// Times every op of a step besides. By the device's clock where there is one: the ops then follow
// each other as in any unrecorded step, and what lies between them is in nobody's time.
class StepProfile : public ProductLog {
 public:
  using Ops = std::map<std::string, OpTime, std::less<>>;

  explicit StepProfile(const Context& context);

  void before(std::string_view op) override;
  void after(std::string_view op, const OpWork& work) override;
  void product(const Context& context, const Product& product) override {
    kernels_.product(context, product);
  }
  // The kernel of every product of the layers, by site.
  const std::vector<NamedProduct>& kernels() const { return kernels_.products(); }

  // Waits for what has been given to the queue.
  const Ops& ops();

 private:
  std::unique_ptr<Timer> timer_;
  KernelNames kernels_;
  Ops ops_;
  std::vector<OpTime*> untimed_;  // in the order of the timer's stretches
};

double floor_seconds(const std::vector<ProductTime>& products);

}  // namespace twill
