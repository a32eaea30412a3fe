// SPDX-License-Identifier: Apache-2.0
// One layer in packed execution: its weight without zeros for forward and dgrad, and, while it keeps
// a topology, arrays of the kept entries alone for everything the optimizer touches.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nn/builder.h"
#include "ops/packing/pack_both.h"
#include "sparsity/plan/plan.h"

namespace twill {

struct SparseLayer;

class PackedLayer {
 public:
  // What a phase does with the layer, and what the plan says to it.
  struct Use {
    PlanEntry entry;
    const WeightsPart* part;
  };
  // Memory for the densest weight that `uses` let run packed.
  void reserve(Builder& builder, const SparseLayer& layer, const std::vector<Use>& uses);

  // Packs what forward and dgrad take now and points the seam to it, or takes it away where the
  // plan has dense operands. A soft projection is made here too, also where nothing is packed of it.
  // `same_mask`: only values have changed since the last call. What is packed for both is only added to
  // `together`: the caller packs it with that of other layers (ops/packing/pack_both.h).
  void pack(const Context& context, const SparseLayer& layer, const WeightsPart& part,
            const PlanEntry& entry, bool same_mask, std::vector<PackBothArgs>& together);
  void drop(const SparseLayer& layer);

  // Gradients and moments of the kept entries alone, from here on. The dense ones are not kept up to
  // date until end_kept(), which also zeroes the moments outside the topology.
  void begin_kept(const Context& context, const SparseLayer& layer, const Moments& moments);
  void end_kept(const Context& context, const SparseLayer& layer, const Moments& moments);
  bool is_kept() const { return is_kept_; }
  // The arrays are of another state than the one that has just been loaded.
  void forget_kept(const SparseLayer& layer);
  // The dense moments as they are now, for a checkpoint; the arrays stay in use.
  void write_moments(const Context& context, const Moments& moments) const;
  // Behind a backward pass: what another layer has added to the weight's own gradient.
  void add_shared_gradient(const Context& context, const SparseLayer& layer) const;
  // Behind an update: the weight has the values of the arrays.
  void write_weight(const Context& context, const SparseLayer& layer) const;
  KeptEntries entries() const;

 private:
  KeptPositions positions() const;
  View first(View array) const { return array.slice(0, num_kept_); }
  // What is reserved for one side; nothing where the product takes the operand with its zeros.
  std::optional<PackedShape> reserved_shape(const Context& context, const SparseLayer& layer,
                                            const WeightsPart& part, bool transpose) const;

  DType type_ = DType::kF32;                        // of packed values
  std::int64_t forward_kept_ = 0, dgrad_kept_ = 0;  // entries that there is room for
  View forward_;                                    // storage
  View dgrad_;
  bool has_forward_ = false;  // packed with the mask in force
  bool has_dgrad_ = false;

  View row_begin_;
  View column_;
  View value_;
  View gradient_;
  View m_;
  View v_;
  bool is_kept_ = false;
  std::int64_t num_kept_ = 0;
};

// The layer's weight, or its transposed, as a part would have it packed by this backend; nothing where
// the backend cannot.
std::optional<PackedShape> packed_shape(const Context& context, const SparseLayer& layer,
                                        const WeightsPart& part, bool transpose, DType type);

// One side of a weight, to be packed; nothing where it has no shape.
struct SideToPack {
  std::optional<PackedShape> shape = {};
  View storage = {};
};

// The soft projection of the layer's weight, and what is packed of it: one side with the projection
// itself from one reading of the master.
void project_softly(const Context& context, const WeightsPart& part, const SparseLayer& layer,
                    const SideToPack& forward, const SideToPack& dgrad);

// Share of a layer's weights that a part keeps now.
double density_of(const WeightsPart& part, const SparseLayer& layer);

}  // namespace twill
