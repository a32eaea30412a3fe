// SPDX-License-Identifier: Apache-2.0
// Headers of llm.c and llm.q shards and Megatron's index. The first byte chooses; the second says
// how many more bytes the file has than the fuzzer shows.
#include "data/shards/shard_header.h"
#include "target.h"

namespace {

// Whatever was accepted lies inside the file.
void require_inside(const twill::ShardLayout& layout, std::int64_t file_bytes) {
  const bool inside = layout.count >= 0 && layout.data_offset >= 0 && layout.width > 0 &&
                      layout.data_offset <= file_bytes &&
                      layout.count <= (file_bytes - layout.data_offset) / layout.width;
  if (!inside) __builtin_trap();
}

}  // namespace

TWILL_FUZZ(bytes) {
  if (bytes.size() < 2) return;
  const int which = bytes[0] & 3;
  const std::string_view head = bytes.substr(2);
  const auto file_bytes =
      static_cast<std::int64_t>(head.size()) + 512 * static_cast<unsigned char>(bytes[1]);
  if (which == 0) require_inside(twill::parse_llmc_header(head, file_bytes, "fuzz"), file_bytes);
  if (which == 1) require_inside(twill::parse_bin_tok_header(head, file_bytes, "fuzz"), file_bytes);
  if (which >= 2) {
    const auto index = twill::parse_megatron_index(head, file_bytes, "fuzz");
    require_inside(index.layout, file_bytes);
    for (const std::int64_t start : index.document_starts)
      if (start < 0 || start > index.layout.count) __builtin_trap();
  }
}
