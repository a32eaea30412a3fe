// SPDX-License-Identifier: Apache-2.0
// What a model is made of before any memory exists: named parameters, and buffers in named regions.
// Layers register both in their constructors; Builder::commit() then takes the memory at once.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "nn/parameter_update.h"
#include "nn/recompute.h"
#include "nn/seam.h"
#include "ops/context.h"
#include "tensor/arena.h"

namespace twill {

enum class Init { kNormal, kZeros, kOnes };

struct Parameter {
  std::string name;  // "blocks.0.attention.qkv.weight"
  Shape shape;
  Init init = Init::kZeros;
  double init_std = 0.0;
  // False when the first backward pass of a step overwrites the whole gradient (linear layers do),
  // so that nobody needs to clear it.
  bool clear_gradient = true;
  View value;     // the master: what the optimizer moves and checkpoints hold
  View operand;   // what layers read: the value itself, or its copy in the model's narrower type
  View gradient;  // absent in inference
  Moments moments = {};         // where an optimizer has them
  ParameterUpdate update = {};  // what the next update does besides
};

// Copies the master into the operand, where that has a place of its own.
void refresh_operand(const Context& context, const Parameter& parameter);

// One line of the memory table.
struct MemoryLine {
  std::string region;
  std::int64_t bytes;
};

// Neurons that stay dense are as many as leave whole windows of selected ones, of 128 at most.
constexpr std::int64_t kMostRoundedUp = 128;

class Builder {
 public:
  // The largest pass this model will see is max_batch sequences of max_time tokens.
  struct Options {
    // Of activations and operands; masters, gradients and statistics have its wide_type().
    DType dtype = DType::kF32;
    bool training = true;
    std::int64_t max_batch = 1;
    std::int64_t max_time = 1;
    // Attention keeps the keys and values of one sequence of max_time tokens.
    bool decoding = false;
    Recompute recompute = {};
    // What the steering of sparsity will ask of the layers: each costs scratch memory.
    bool samples_gradients = false;    // Form::sample
    bool packs_samples = false;        // Form::packs_sample, where the backend can
    bool rounds_operands = false;      // Form::rounding
    bool steers_head = false;          // these of the head too
    bool selects_activations = false;  // FfnSeam::selects
    // Form::activations, where the backend can: the largest share of the neurons that a
    // token keeps, but for kMostRoundedUp more; 0: never.
    double packed_activations = 0.0;
    bool measures_activations = false;  // FfnSeam::nonzero
  };

  Builder(const Context& context, Options options);

  const Context& context() const { return *context_; }
  const Options& options() const { return options_; }
  std::int64_t max_tokens() const { return options_.max_batch * options_.max_time; }

  Parameter& parameter(std::string name, Shape shape, Init init, double init_std = 0.0);

  // Kept from the forward to the backward pass, unless `keep` is false. What is not kept, and in
  // inference everything, shares its memory with all slots of the same `role`.
  void activation(std::string_view role, View& slot, Shape shape, bool keep = true);
  // The same in the wide type: statistics of rows.
  void statistic(std::string_view role, View& slot, Shape shape, bool keep = true);
  // Dead when the layer's call returns: shared by role.
  void scratch(std::string_view role, View& slot, Shape shape);
  void scratch_bytes(std::string_view role, View& slot, std::int64_t bytes);
  // Private, kept in training and inference alike.
  void state(View& slot, DType dtype, Shape shape);
  // Masks, projected weights and whatever else sparsity keeps.
  void sparsity_state(View& slot, DType dtype, Shape shape);
  // Packed weights and what belongs to their entries. In bytes: aligned to 64.
  void packed_state(View& slot, DType dtype, Shape shape);
  void packed_bytes(View& slot, std::int64_t bytes);
  // Scratch of another type than the model's.
  void scratch_of(std::string_view role, View& slot, DType dtype, Shape shape);
  // Two moments per parameter and whatever else an optimizer keeps; by default in the masters' type.
  void optimizer_state(View& slot, Shape shape);
  void optimizer_state(View& slot, Shape shape, DType dtype);

  // A layer's part of the seam; the address stays valid for the life of the builder.
  LinearSeam& linear_seam(LinearSeam seam);
  FfnSeam& ffn_seam(FfnSeam seam);
  AttentionSeam& attention_seam(AttentionSeam seam);
  std::deque<LinearSeam>& linear_seams() { return linear_seams_; }
  std::deque<FfnSeam>& ffn_seams() { return ffn_seams_; }
  std::deque<AttentionSeam>& attention_seams() { return attention_seams_; }

  // The table is complete once the model is built; it does not need the memory.
  std::vector<MemoryLine> memory_table() const;
  void commit();

  // Copies masters into operands, after somebody has set the masters. The optimizer sets both.
  void refresh_operands();

  // Addresses of parameters stay valid for the life of the builder.
  std::deque<Parameter>& parameters() { return parameters_; }
  const std::deque<Parameter>& parameters() const { return parameters_; }

 private:
  const Context* context_;
  Options options_;
  bool has_operands() const { return wide() != options_.dtype; }
  void forward_result(std::string_view role, View& slot, DType dtype, Shape shape, bool keep);
  DType wide() const { return wide_type(options_.dtype); }

  std::deque<Parameter> parameters_;
  Arena weights_;
  Arena operands_;
  Arena gradients_;
  Arena optimizer_;
  Arena activations_;
  Arena workspace_;
  Arena sparsity_;
  Arena packed_;
  std::deque<LinearSeam> linear_seams_;
  std::deque<FfnSeam> ffn_seams_;
  std::deque<AttentionSeam> attention_seams_;
};

}  // namespace twill
