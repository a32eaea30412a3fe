// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/embedding.h"

#include "ops/validate.h"

namespace twill {
namespace {

void require_tables(const ConstView& tokens, const ConstView& tokens_table,
                    const ConstView& position_table, const NamedView& out,
                    std::int64_t first_position) {
  require_dtype("embedding", {"tokens", tokens}, DType::kI32);
  require(tokens.shape().rank() == 2, "[embedding] tokens must have shape (B, T), got {}",
          to_string(tokens.shape()));
  require(tokens_table.shape().rank() == 2,
          "[embedding] token table must have shape (V, C), got {}",
          to_string(tokens_table.shape()));
  const std::int64_t width = tokens_table.cols();
  require_shape("embedding", out, {tokens.shape()[0], tokens.shape()[1], width});
  require(first_position >= 0, "[embedding] first_position must be at least 0, got {}",
          first_position);
  if (!position_table) return;
  require(position_table.shape().rank() == 2 && position_table.cols() == width &&
              position_table.rows() - tokens.shape()[1] >= first_position,
          "[embedding] position table must have at least {} rows of {}, got {}",
          tokens.shape()[1] + first_position, width, to_string(position_table.shape()));
}

}  // namespace

void validate(const EmbeddingForwardArgs& args) {
  require_float_types("embedding",
                      {{"token_table", args.token_table},
                       {"position_table", args.position_table, true},
                       {"out", args.out}},
                      {});
  require_tables(args.tokens, args.token_table, args.position_table, {"out", args.out},
                 args.first_position);
}

void validate(const EmbeddingBackwardArgs& args) {
  require_float_types(
      "embedding", {{"dout", args.dout}},
      {{"dtoken_table", args.dtoken_table}, {"dposition_table", args.dposition_table, true}});
  require_tables(args.tokens, args.dtoken_table, args.dposition_table, {"dout", args.dout}, 0);
}

void embedding_forward(const Context& context, const EmbeddingForwardArgs& args) {
  validate(args);
  require_stored("embedding", context.kernels(), args.out);
  context.run("embedding_forward", context.kernels().embedding_forward, args);
}

void embedding_backward(const Context& context, const EmbeddingBackwardArgs& args) {
  validate(args);
  require_stored("embedding", context.kernels(), args.dout);
  context.run("embedding_backward", context.kernels().embedding_backward, args);
}

}  // namespace twill
