// SPDX-License-Identifier: Apache-2.0
// Attention as a graph of cuDNN's frontend: tensors with strides, so that q, k and v are read and
// their gradients are written where they lie. For attention_cudnn.cpp only.
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

#include "ops/attention/attention.h"

namespace twill::cuda {

namespace fe = cudnn_frontend;

// Query i sees keys j with i - left < j <= i + right.
struct PairBand {
  static constexpr std::int64_t kUnbounded = -1;
  std::int64_t left = kUnbounded, right = kUnbounded;

  auto operator<=>(const PairBand&) const = default;
};

// Elements from token to token. Those of gradients are 0 in a forward call.
struct RowStrides {
  std::int64_t q = 0, k = 0, v = 0, out = 0, dq = 0, dk = 0, dv = 0;

  auto operator<=>(const RowStrides&) const = default;
};

// A call's operands: all of B and K, or a slice of them. Heads beyond the slice only set strides.
struct AttentionSizes {
  std::int64_t B, T, S, H, K, D;
  RowStrides strides;
  PairBand band = {};
  bool has_lengths = false;

  template <class Args>
  static AttentionSizes of(const Args& args) {
    const AttentionExtents is(args);
    AttentionSizes sizes{is.B, is.T, is.S, is.H, is.K, is.D, {}};
    sizes.strides.q = args.q.row_stride();
    sizes.strides.k = args.k.row_stride();
    sizes.strides.v = args.v.row_stride();
    sizes.strides.out = is.H * is.D;
    if constexpr (requires { args.dq; }) {
      sizes.strides.dq = args.dq.row_stride();
      sizes.strides.dk = args.dk.row_stride();
      sizes.strides.dv = args.dv.row_stride();
    }
    return sizes;
  }
  AttentionSizes sliced(std::int64_t batch, std::int64_t kv_heads) const {
    AttentionSizes slice = *this;
    slice.B = batch;
    slice.H = kv_heads * (H / K);
    slice.K = kv_heads;
    return slice;
  }

  auto operator<=>(const AttentionSizes&) const = default;
};

enum Uid : std::int64_t {
  kQ = 1,
  kK,
  kV,
  kOut,
  kLse,
  kScale,
  kDOut,
  kDQ,
  kDK,
  kDV,
  kQueryLengths,
  kKeyLengths
};

using GraphTensor = fe::graph::Tensor_attributes;

// (B, heads, tokens, D) with tokens `stride` elements apart.
inline GraphTensor head_tensor(const AttentionSizes& sizes, Uid uid, std::int64_t heads,
                               std::int64_t tokens, std::int64_t stride) {
  return GraphTensor()
      .set_uid(uid)
      .set_data_type(fe::DataType_t::BFLOAT16)
      .set_dim({sizes.B, heads, tokens, sizes.D})
      .set_stride({tokens * stride, sizes.D, stride, 1});
}
inline GraphTensor query_tensor(const AttentionSizes& sizes, Uid uid, std::int64_t stride) {
  return head_tensor(sizes, uid, sizes.H, sizes.T, stride);
}
inline GraphTensor key_tensor(const AttentionSizes& sizes, Uid uid, std::int64_t stride) {
  return head_tensor(sizes, uid, sizes.K, sizes.S, stride);
}

inline GraphTensor lengths_tensor(const AttentionSizes& sizes, Uid uid) {
  return GraphTensor()
      .set_uid(uid)
      .set_data_type(fe::DataType_t::INT32)
      .set_dim({sizes.B, 1, 1, 1})
      .set_stride({1, 1, 1, 1});
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

// What both directions say of the pairs that are visible.
template <class Options>
void show_pairs(const AttentionSizes& sizes, fe::graph::Graph& graph, Options& options) {
  if (sizes.band != PairBand()) options.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT);
  if (sizes.band.left != PairBand::kUnbounded)
    options.set_diagonal_band_left_bound(static_cast<int>(sizes.band.left));
  if (sizes.band.right != PairBand::kUnbounded)
    options.set_diagonal_band_right_bound(static_cast<int>(sizes.band.right));
  if (!sizes.has_lengths) return;
  options.set_padding_mask(true)
      .set_seq_len_q(graph.tensor(lengths_tensor(sizes, kQueryLengths)))
      .set_seq_len_kv(graph.tensor(lengths_tensor(sizes, kKeyLengths)));
}

inline void add_forward(const AttentionSizes& sizes, fe::graph::Graph& graph) {
  const auto q = graph.tensor(query_tensor(sizes, kQ, sizes.strides.q));
  const auto k = graph.tensor(key_tensor(sizes, kK, sizes.strides.k));
  const auto v = graph.tensor(key_tensor(sizes, kV, sizes.strides.v));
  auto options = fe::graph::SDPA_attributes()
                     .set_name("attention")
                     .set_generate_stats(true)
                     .set_attn_scale(graph.tensor(scale_tensor()));
  show_pairs(sizes, graph, options);
  const auto [out, lse] = graph.sdpa(q, k, v, options);
  place_output(out, query_tensor(sizes, kOut, sizes.strides.out));
  place_output(lse, lse_tensor(sizes));
}

inline void add_backward(const AttentionSizes& sizes, fe::graph::Graph& graph) {
  const RowStrides& strides = sizes.strides;
  const auto q = graph.tensor(query_tensor(sizes, kQ, strides.q));
  const auto k = graph.tensor(key_tensor(sizes, kK, strides.k));
  const auto v = graph.tensor(key_tensor(sizes, kV, strides.v));
  const auto out = graph.tensor(query_tensor(sizes, kOut, strides.out));
  const auto dout = graph.tensor(query_tensor(sizes, kDOut, strides.out));
  const auto lse = graph.tensor(lse_tensor(sizes));
  auto options = fe::graph::SDPA_backward_attributes()
                     .set_name("attention_backward")
                     .set_deterministic_algorithm(true)
                     .set_attn_scale(graph.tensor(scale_tensor()));
  show_pairs(sizes, graph, options);
  const auto [dq, dk, dv] = graph.sdpa_backward(q, k, v, out, dout, lse, options);
  place_output(dq, query_tensor(sizes, kDQ, strides.dq));
  place_output(dk, key_tensor(sizes, kDK, strides.dk));
  place_output(dv, key_tensor(sizes, kDV, strides.dv));
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
