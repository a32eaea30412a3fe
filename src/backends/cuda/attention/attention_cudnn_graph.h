// SPDX-License-Identifier: Apache-2.0
// Attention as a graph of cuDNN's frontend: tensors with strides, so that the packed qkv buffer is
// read and dqkv is written in place. For attention_cudnn.cpp only.
#pragma once

// The header's own copy of a JSON library changes how floats are written: keep it out of here.
#define CUDNN_FRONTEND_SKIP_JSON_LIB
#ifndef NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#endif

#include <cudnn_frontend.h>

#include <compare>
#include <cstdint>
#include <memory>

#include "tensor/shape.h"

namespace twill::cuda {

namespace fe = cudnn_frontend;

// A call's operands: all of B and K, or a slice of them. Heads beyond the slice only set strides.
struct AttentionSizes {
  std::int64_t B, T, H, K, D;
  std::int64_t all_heads, all_kv_heads;

  template <class Args>
  static AttentionSizes of(const Args& args) {
    const Shape& qkv = args.qkv.shape();
    const std::int64_t H = args.num_heads(), K = args.num_kv_heads();
    return {qkv[0], qkv[1], H, K, qkv[3], H, K};
  }
  AttentionSizes sliced(std::int64_t batch, std::int64_t kv_heads) const {
    return {batch, T, kv_heads * (H / K), kv_heads, D, all_heads, all_kv_heads};
  }
  std::int64_t packed_stride() const { return (all_heads + 2 * all_kv_heads) * D; }
  std::int64_t out_stride() const { return all_heads * D; }

  auto operator<=>(const AttentionSizes&) const = default;
};

enum Uid : std::int64_t { kQ = 1, kK, kV, kOut, kLse, kScale, kDOut, kDQ, kDK, kDV };

using GraphTensor = fe::graph::Tensor_attributes;

// (B, heads, T, D) with tokens `stride` elements apart.
inline GraphTensor head_tensor(const AttentionSizes& sizes, Uid uid, std::int64_t heads,
                               std::int64_t stride) {
  return GraphTensor()
      .set_uid(uid)
      .set_data_type(fe::DataType_t::BFLOAT16)
      .set_dim({sizes.B, heads, sizes.T, sizes.D})
      .set_stride({sizes.T * stride, sizes.D, stride, 1});
}

// Row statistics: lse exactly as ops/attention/attention.h has it.
inline GraphTensor lse_tensor(const AttentionSizes& sizes) {
  return GraphTensor()
      .set_uid(kLse)
      .set_data_type(fe::DataType_t::FLOAT)
      .set_dim({sizes.B, sizes.H, sizes.T, 1})
      .set_stride({sizes.H * sizes.T, sizes.T, 1, 1});
}

inline GraphTensor scale_tensor() {
  return GraphTensor()
      .set_uid(kScale)
      .set_data_type(fe::DataType_t::FLOAT)
      .set_dim({1, 1, 1, 1})
      .set_stride({1, 1, 1, 1})
      .set_is_pass_by_value(true);
}

// Gives an output that the frontend made the place and layout of `like`.
inline void place_output(const std::shared_ptr<GraphTensor>& output, const GraphTensor& like) {
  output->set_output(true)
      .set_uid(like.get_uid())
      .set_data_type(like.get_data_type())
      .set_dim(like.get_dim())
      .set_stride(like.get_stride());
}

inline void add_forward(const AttentionSizes& sizes, fe::graph::Graph& graph) {
  const std::int64_t packed = sizes.packed_stride();
  const auto q = graph.tensor(head_tensor(sizes, kQ, sizes.H, packed));
  const auto k = graph.tensor(head_tensor(sizes, kK, sizes.K, packed));
  const auto v = graph.tensor(head_tensor(sizes, kV, sizes.K, packed));
  const auto options = fe::graph::SDPA_attributes()
                           .set_name("attention")
                           .set_generate_stats(true)
                           .set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
                           .set_diagonal_band_right_bound(0)
                           .set_attn_scale(graph.tensor(scale_tensor()));
  const auto [out, lse] = graph.sdpa(q, k, v, options);
  place_output(out, head_tensor(sizes, kOut, sizes.H, sizes.out_stride()));
  place_output(lse, lse_tensor(sizes));
}

inline void add_backward(const AttentionSizes& sizes, fe::graph::Graph& graph) {
  const std::int64_t packed = sizes.packed_stride(), unpacked = sizes.out_stride();
  const auto q = graph.tensor(head_tensor(sizes, kQ, sizes.H, packed));
  const auto k = graph.tensor(head_tensor(sizes, kK, sizes.K, packed));
  const auto v = graph.tensor(head_tensor(sizes, kV, sizes.K, packed));
  const auto out = graph.tensor(head_tensor(sizes, kOut, sizes.H, unpacked));
  const auto dout = graph.tensor(head_tensor(sizes, kDOut, sizes.H, unpacked));
  const auto lse = graph.tensor(lse_tensor(sizes));
  const auto options = fe::graph::SDPA_backward_attributes()
                           .set_name("attention_backward")
                           .set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
                           .set_diagonal_band_right_bound(0)
                           .set_deterministic_algorithm(true)
                           .set_attn_scale(graph.tensor(scale_tensor()));
  const auto [dq, dk, dv] = graph.sdpa_backward(q, k, v, out, dout, lse, options);
  place_output(dq, head_tensor(sizes, kDQ, sizes.H, packed));
  place_output(dk, head_tensor(sizes, kDK, sizes.K, packed));
  place_output(dv, head_tensor(sizes, kDV, sizes.K, packed));
}

enum class Direction { kForward, kBackward };

// The graph as cuDNN is asked to run it; it has no plan yet.
inline void describe_graph(const AttentionSizes& sizes, Direction direction,
                           fe::graph::Graph& graph) {
  graph.set_io_data_type(fe::DataType_t::BFLOAT16)
      .set_intermediate_data_type(fe::DataType_t::FLOAT)
      .set_compute_data_type(fe::DataType_t::FLOAT);
  direction == Direction::kForward ? add_forward(sizes, graph) : add_backward(sizes, graph);
}

}  // namespace twill::cuda
