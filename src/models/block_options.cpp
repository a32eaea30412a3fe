// SPDX-License-Identifier: Apache-2.0
#include "models/block_options.h"

namespace twill {

Norm::Options norm_options(const ModelConfig& c) {
  return {.kind = c.norm == "rms" ? NormKind::kRms : NormKind::kLayer,
          .width = c.width,
          .bias = c.bias,
          .eps = c.norm_eps};
}

Block::Options block_options(const ModelConfig& c, std::int64_t layer) {
  const double output_std = c.init.std * c.init.residual_scale;
  const auto stream = static_cast<std::uint64_t>(2 * layer);
  return {.norm = norm_options(c),
          .attention = {.width = c.width,
                        .heads = c.heads,
                        .kv_heads = c.kv_heads,
                        .head_dim = c.width / c.heads,
                        .bias = c.bias,
                        .rotary_theta = c.positions == "rotary" ? c.rotary_theta : 0.0,
                        .init_std = c.init.std,
                        .output_init_std = output_std,
                        .dropout = c.dropout,
                        .dropout_stream = stream + 1},
          .ffn = {.width = c.width,
                  .hidden = c.ffn.width,
                  .activation = c.ffn.kind(),
                  .bias = c.bias,
                  .init_std = c.init.std,
                  .output_init_std = output_std,
                  .dropout = c.dropout,
                  .dropout_stream = stream + 2}};
}

}  // namespace twill
