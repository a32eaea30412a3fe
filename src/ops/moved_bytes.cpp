// SPDX-License-Identifier: Apache-2.0
#include "ops/moved_bytes.h"

#include <algorithm>
#include <initializer_list>

#include "ops/attention/attention.h"
#include "ops/attention/cached_attention.h"
#include "ops/attention/rotary.h"
#include "ops/layers/activation.h"
#include "ops/layers/cross_entropy.h"
#include "ops/layers/dropout.h"
#include "ops/layers/embedding.h"
#include "ops/layers/layer_norm.h"
#include "ops/layers/rms_norm.h"
#include "ops/layers/targets.h"
#include "ops/numbers/cast.h"
#include "ops/numbers/column_sum.h"
#include "ops/numbers/fill.h"
#include "ops/numbers/fp8.h"
#include "ops/numbers/sum.h"
#include "ops/numbers/sum_squares.h"
#include "ops/packing/activation_sample.h"
#include "ops/packing/pack24.h"
#include "ops/packing/pack_both.h"
#include "ops/packing/pack_sample.h"
#include "ops/packing/packed_matrix.h"
#include "ops/packing/soft_pack24.h"
#include "ops/products/gemm.h"
#include "ops/products/packed_times.h"
#include "ops/products/product.h"
#include "ops/products/times_packed.h"
#include "ops/selection/kept.h"
#include "ops/selection/mask.h"
#include "ops/selection/mvue24.h"
#include "ops/selection/route_tokens.h"
#include "ops/selection/select24.h"
#include "ops/selection/soft_threshold24.h"
#include "ops/selection/topology.h"
#include "ops/selection/transposable24.h"
#include "ops/selection/venom.h"
#include "ops/update/adamw.h"
#include "ops/update/masked_decay.h"
#include "ops/update/moment_change.h"
#include "ops/update/update_all.h"

namespace twill {
namespace {

// Of those that are present: an absent view has the shape of a scalar.
std::int64_t bytes_of(std::initializer_list<ConstView> views) {
  std::int64_t sum = 0;
  for (const ConstView& view : views) sum += view ? view.num_bytes() : 0;
  return sum;
}

// Read and written.
std::int64_t changed(std::initializer_list<ConstView> views) { return 2 * bytes_of(views); }

// A result that is written, or added to what it held.
std::int64_t result(ConstView view, bool adds) { return (adds ? 2 : 1) * bytes_of({view}); }

// A mask that may stay unread, because the storage has its positions.
ConstView unless_known(ConstView mask, bool is_known) { return is_known ? ConstView() : mask; }

std::int64_t row_bytes(ConstView table) {
  return table ? table.cols() * size_of(table.dtype()) : 0;
}

// Rows of a table that a batch of tokens reaches, each once: repeated tokens find theirs cached.
std::int64_t token_rows(ConstView tokens, ConstView table) {
  return std::min(tokens.num_elements(), table.rows());
}

// Lengths are values on the device: all tokens count.
template <class Args>
double forward_flops(const Args& args) {
  const AttentionExtents is(args);
  const bool is_triangle = args.mask.kind == AttentionPattern::kCausal && is.T == is.S;
  const std::int64_t pairs =
      is_triangle ? is.T * (is.T + 1) / 2 : num_visible(args.mask, is.T, is.S);
  return 4.0 * static_cast<double>(pairs) * static_cast<double>(is.B * is.H * is.D);
}

template <class Args>
std::int64_t head_bytes(const Args& args) {
  return args.q.num_bytes() + args.k.num_bytes() + args.v.num_bytes();
}

}  // namespace

std::int64_t moved_bytes(const ActivationBackwardArgs& args) {
  return bytes_of({args.x, args.dy, args.dx});
}
std::int64_t moved_bytes(const ActivationForwardArgs& args) {
  return bytes_of({args.x, args.y, args.slope});
}

std::int64_t moved_bytes(const AdamwAllArgs& args) {
  std::int64_t sum = 0;
  for (const UpdateTensor& tensor : args.tensors)
    sum += changed({tensor.weight, tensor.m, tensor.v}) +
           bytes_of({tensor.grad, tensor.operand, tensor.mask});
  return sum;
}
std::int64_t moved_bytes(const AdamwArgs& args) {
  return changed({args.weight, args.m}) + result(args.v, !args.freeze_v) +
         bytes_of({args.grad, args.operand});
}

std::int64_t moved_bytes(const AttentionBackwardArgs& args) {
  return 2 * head_bytes(args) +  // their gradients have the same size
         bytes_of({args.out, args.lse, args.dout, args.key_lengths, args.query_lengths});
}
std::int64_t moved_bytes(const AttentionForwardArgs& args) {
  return head_bytes(args) + bytes_of({args.out, args.lse, args.key_lengths, args.query_lengths});
}
std::int64_t moved_bytes(const CachedAttentionArgs& args) {
  const std::int64_t token =
      args.num_kv_heads() * args.keys.shape()[2] * size_of(args.keys.dtype());
  const std::int64_t read = args.out ? args.past + args.num_tokens() : 0;
  return bytes_of({args.qkv, args.out}) + 2 * (args.num_tokens() + read) * token;
}

std::int64_t moved_bytes(const CastArgs& args) { return bytes_of({args.x, args.y}); }
std::int64_t moved_bytes(const ColumnSumArgs& args) {
  return bytes_of({args.x}) + result(args.sum, args.accumulate);
}
std::int64_t moved_bytes(const CrossEntropyArgs& args) {
  return bytes_of({args.logits, args.targets, args.loss, args.dlogits, args.best});
}
std::int64_t moved_bytes(const DropoutArgs& args) {
  return bytes_of({args.x, args.addend, args.step_at, args.y});
}

std::int64_t moved_bytes(const EmbeddingBackwardArgs& args) {
  const std::int64_t rows =
      token_rows(args.tokens, args.dtoken_table) * row_bytes(args.dtoken_table) +
      args.tokens.shape()[1] * row_bytes(args.dposition_table);
  return bytes_of({args.tokens, args.dout}) + 2 * rows;
}
std::int64_t moved_bytes(const EmbeddingForwardArgs& args) {
  return bytes_of({args.tokens, args.out}) +
         token_rows(args.tokens, args.token_table) * row_bytes(args.token_table) +
         args.tokens.shape()[1] * row_bytes(args.position_table);
}

std::int64_t moved_bytes(const EmitArgs& args) {
  std::int64_t copies = 0;
  for (const Emit& emit : args.emits) copies += bytes_of({emit.to, emit.amax});
  return bytes_of({args.x}) + copies;
}
std::int64_t moved_bytes(const FillArgs& args) { return bytes_of({args.x}); }
std::int64_t moved_bytes(const GemmArgs& args) {
  return bytes_of({args.a, args.b, args.bias, args.addend, args.before}) +
         result(args.c, args.accumulate);
}

std::int64_t moved_bytes(const LayerNormBackwardArgs& args) {
  return bytes_of({args.x, args.weight, args.mean, args.rstd, args.dy}) +
         result(args.dx, args.accumulate_dx) + result(args.dweight, args.accumulate) +
         result(args.dbias, args.accumulate) + result(args.dx_sum, args.accumulate);
}
std::int64_t moved_bytes(const LayerNormForwardArgs& args) {
  return bytes_of({args.x, args.weight, args.bias, args.y, args.mean, args.rstd});
}
std::int64_t moved_bytes(const Product& product) {
  const Epilogue& epilogue = product.epilogue;
  std::int64_t copies = 0;
  for (const Emit& emit : epilogue.emits) copies += bytes_of({emit.to, emit.amax});
  return bytes_of({product.a.data, product.b.data, epilogue.bias, epilogue.addend, epilogue.before,
                   epilogue.sums}) +
         result(product.c, product.accumulates) + copies;
}
std::int64_t moved_bytes(const RmsNormBackwardArgs& args) {
  return bytes_of({args.x, args.weight, args.rstd, args.dy}) + result(args.dx, args.accumulate_dx) +
         result(args.dweight, args.accumulate) + result(args.dx_sum, args.accumulate);
}
std::int64_t moved_bytes(const RmsNormForwardArgs& args) {
  return bytes_of({args.x, args.weight, args.y, args.rstd});
}

std::int64_t moved_bytes(const NormAllArgs& args) {
  std::int64_t sum = bytes_of({args.norm2});
  for (const UpdateTensor& tensor : args.tensors) sum += bytes_of({tensor.grad});
  return sum;
}
std::int64_t moved_bytes(const PrepareUpdateArgs& args) { return bytes_of({args.table}); }

std::int64_t moved_bytes(const RotaryArgs& args) {
  const std::int64_t head = args.x.shape()[3] * size_of(args.x.dtype());
  return 2 * args.x.shape()[0] * args.x.shape()[1] * args.num_rotated * head;
}
std::int64_t moved_bytes(const SumArgs& args) {
  return bytes_of({args.x}) + result(args.sum, args.accumulate);
}
std::int64_t moved_bytes(const CountTargetsArgs& args) {
  return bytes_of({args.targets, args.count});
}
std::int64_t moved_bytes(const AddMeanArgs& args) {
  return bytes_of({args.sum, args.count}) + result(args.mean, args.accumulate);
}
std::int64_t moved_bytes(const SumSquaresArgs& args) { return bytes_of({args.x, args.sum}); }

std::int64_t moved_bytes(const ApplyMaskArgs& args) {
  return bytes_of({args.x, args.mask, args.y, args.keep_columns});
}
std::int64_t moved_bytes(const ClusterEnergyArgs& args) {
  return bytes_of({args.a, args.cluster, args.score});
}
std::int64_t moved_bytes(const CountNonzeroArgs& args) { return bytes_of({args.x, args.counts}); }
std::int64_t moved_bytes(const Fp8RoundArgs& args) { return bytes_of({args.x, args.y}); }
std::int64_t moved_bytes(const MaskDifferenceArgs& args) {
  return bytes_of({args.a, args.b, args.count});
}
std::int64_t moved_bytes(const MaskMassArgs& args) {
  return bytes_of({args.x, args.mask, args.sums});
}
std::int64_t moved_bytes(const MaskedDecayArgs& args) {
  return changed({args.target}) + bytes_of({args.weight, args.mask});
}
std::int64_t moved_bytes(const MomentChangeArgs& args) {
  return bytes_of({args.grad, args.v, args.sum});
}
std::int64_t moved_bytes(const Mvue24Args& args) { return bytes_of({args.x, args.y, args.mask}); }
std::int64_t moved_bytes(const Pack24Args& args) {
  return bytes_of({args.dense, args.mask, args.values, args.nibbles});
}
std::int64_t moved_bytes(const RegrowMomentsArgs& args) {
  return changed({args.m, args.v}) + bytes_of({args.mask, args.grown});
}
std::int64_t moved_bytes(const RouteTokensArgs& args) {
  return bytes_of({args.score, args.order, args.route, args.dealt});
}
std::int64_t moved_bytes(const Select24Args& args) { return bytes_of({args.x, args.mask}); }
std::int64_t moved_bytes(const SoftThreshold24Args& args) { return bytes_of({args.x, args.y}); }
std::int64_t moved_bytes(const SoftThreshold24SumsArgs& args) {
  return bytes_of({args.x, args.sums});
}
std::int64_t moved_bytes(const TopologyUpdateArgs& args) {
  return changed({args.weight, args.mask}) + bytes_of({args.grad, args.grown});
}
std::int64_t moved_bytes(const Transposable24Args& args) { return bytes_of({args.x, args.mask}); }
std::int64_t moved_bytes(const Unpack24Args& args) {
  return bytes_of({args.values, args.nibbles, args.dense});
}
std::int64_t moved_bytes(const VenomSelectArgs& args) {
  return bytes_of({args.x, args.mask, args.row_order, args.column_order, args.mass});
}

std::int64_t moved_bytes(const ActivationSampleArgs& args) {
  return moved_bytes(args.activation) + bytes_of({args.pack.storage}) +
         result(args.pack.sum, args.pack.accumulate);
}
std::int64_t moved_bytes(const FindKeptArgs& args) {
  return bytes_of({args.mask, args.row_begin, args.column});
}
std::int64_t moved_bytes(const GatherKeptArgs& args) {
  return bytes_of({args.kept.row_begin, args.kept.column, args.values, args.values});
}
std::int64_t moved_bytes(const KeptGradientArgs& args) {
  return bytes_of({args.dy, args.x, args.kept.row_begin, args.kept.column}) +
         result(args.values, args.accumulate);
}
std::int64_t moved_bytes(const PackBothArgs& args) {
  return bytes_of(
      {args.dense, unless_known(args.mask, args.same_mask), args.storage, args.storage_transposed});
}
std::int64_t moved_bytes(const PackMatrixArgs& args) {
  return bytes_of({args.dense, unless_known(args.mask, args.same_mask), args.storage});
}
std::int64_t moved_bytes(const PackSampleArgs& args) {
  return bytes_of({args.x, args.storage}) + result(args.sum, args.accumulate);
}
std::int64_t moved_bytes(const PackWeightsArgs& args) {
  std::int64_t bytes = 0;
  for (const PackBothArgs& both : args.weights) bytes += moved_bytes(both);
  return bytes;
}
std::int64_t moved_bytes(const PackedTimesArgs& args) {
  return bytes_of({args.packed.storage, args.b, args.bias, args.addend}) +
         result(args.c, args.accumulate);
}
std::int64_t moved_bytes(const ScatterKeptArgs& args) {
  return bytes_of({args.kept.row_begin, args.kept.column, args.values, args.values});
}
std::int64_t moved_bytes(const SoftPack24Args& args) {
  return bytes_of({args.x, args.keeps_projected ? args.projected : View(), args.storage});
}
std::int64_t moved_bytes(const TimesPackedArgs& args) {
  return bytes_of({args.x, args.packed.storage, args.c, args.bias, args.addend, args.before});
}
std::int64_t moved_bytes(const UnpackMatrixArgs& args) {
  return bytes_of({args.packed.storage, args.dense});
}

double counted_flops(const AttentionBackwardArgs& args) { return 2.5 * forward_flops(args); }
double counted_flops(const AttentionForwardArgs& args) { return forward_flops(args); }
double counted_flops(const GemmArgs& args) {
  return 2.0 * static_cast<double>(args.m()) * static_cast<double>(args.n()) *
         static_cast<double>(args.k());
}

double counted_flops(const KeptGradientArgs& args) {
  return 2.0 * static_cast<double>(args.m()) * static_cast<double>(args.kept.count());
}
double counted_flops(const PackedTimesArgs& args) {
  return 2.0 * static_cast<double>(args.packed.kept) * static_cast<double>(args.n());
}
double counted_flops(const Product& product) {
  return 2.0 * static_cast<double>(product.m()) * static_cast<double>(product.n()) *
         static_cast<double>(product.k());
}
double counted_flops(const TimesPackedArgs& args) {
  return 2.0 * static_cast<double>(args.packed.kept) * static_cast<double>(args.m());
}

}  // namespace twill
