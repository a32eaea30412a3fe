// SPDX-License-Identifier: Apache-2.0
// The part of a model that `twill bench ffn` and `bench block` time: its layers, what goes in, and the
// gradient that comes back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "models/model_config.h"
#include "nn/builder.h"
#include "nn/pass.h"

namespace twill::cli {

enum class PartKind : std::uint8_t { kFfn, kBlock };
const char* name_of(PartKind kind);  // "FFN", "block"

class ProbedPart {
 public:
  // Fills a buffer with standard normal numbers of this stream.
  using Filler = std::function<void(View view, std::uint64_t stream)>;

  virtual ~ProbedPart() = default;
  // Behind Builder::commit().
  virtual void fill(const Filler& filler) = 0;
  virtual void forward(const Pass& pass) const = 0;
  virtual void backward(const Pass& pass) const = 0;
};

// The first FFN, or the first block, of such a model, without dropout.
std::unique_ptr<ProbedPart> make_part(PartKind kind, Builder& builder, const ModelConfig& model);

}  // namespace twill::cli
