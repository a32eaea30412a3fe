// SPDX-License-Identifier: Apache-2.0
#include "ops/layers/embedding.h"

#include <vector>

#include "backends/reference/element_type.h"
#include "backends/reference/kernels.h"

namespace twill::reference {
namespace {

template <class T>
void forward(const EmbeddingForwardArgs& args) {
  const std::int64_t B = args.out.shape()[0], L = args.out.shape()[1], C = args.out.shape()[2];
  const std::int32_t* tokens = args.tokens.as<std::int32_t>();
  const T* token_table = args.token_table.as<T>();
  const T* position_table = data_or_null<T>(args.position_table);
  T* out = args.out.as<T>();
  for (std::int64_t b = 0; b < B; ++b) {
    for (std::int64_t t = 0; t < L; ++t) {
      for (std::int64_t c = 0; c < C; ++c) {
        // One addition in the storage type, because the bits are part of the contract.
        const T token = token_table[tokens[b * L + t] * C + c];
        out[(b * L + t) * C + c] = position_table != nullptr
                                       ? token + position_table[(args.first_position + t) * C + c]
                                       : token;
      }
    }
  }
}

// table[row_of(b, t)] += dout[b, t], rounded once at the end.
template <class T, class RowOf>
void add_rows(const View& table, const ConstView& dout, const RowOf& row_of) {
  const std::int64_t B = dout.shape()[0], L = dout.shape()[1], C = dout.shape()[2];
  T* data = table.as<T>();
  std::vector<double> sums(data, data + table.num_elements());
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t t = 0; t < L; ++t)
      for (std::int64_t c = 0; c < C; ++c)
        sums[static_cast<std::size_t>(row_of(b, t) * C + c)] += dout.as<T>()[(b * L + t) * C + c];
  for (std::size_t i = 0; i < sums.size(); ++i) data[i] = static_cast<T>(sums[i]);
}

template <class T>
void backward(const EmbeddingBackwardArgs& args) {
  const std::int64_t L = args.tokens.shape()[1];
  const std::int32_t* tokens = args.tokens.as<std::int32_t>();
  add_rows<T>(args.dtoken_table, args.dout,
              [&](std::int64_t b, std::int64_t t) { return tokens[b * L + t]; });
  if (args.dposition_table)
    add_rows<T>(args.dposition_table, args.dout, [](std::int64_t, std::int64_t t) { return t; });
}

}  // namespace

void embedding_forward(const EmbeddingForwardArgs& args, const Device&, Queue&) {
  with_element_type(args.out.dtype(), [&]<class T>(T) { forward<T>(args); });
}

void embedding_backward(const EmbeddingBackwardArgs& args, const Device&, Queue&) {
  with_element_type(args.dtoken_table.dtype(), [&]<class T>(T) { backward<T>(args); });
}

}  // namespace twill::reference
