// SPDX-License-Identifier: Apache-2.0
// Headers of model files of llm.c and llama2.c; the first byte chooses.
#include "exchange/bin_model.h"
#include "target.h"

TWILL_FUZZ(bytes) {
  if (bytes.empty()) return;
  const std::string_view head = bytes.substr(1);
  // A header is believed only where the sizes fit to the byte, so the fuzzer may choose the size.
  std::int64_t file_bytes = static_cast<std::int64_t>(head.size());
  if (head.size() > 8) file_bytes += 4 * static_cast<unsigned char>(head[7]);
  if ((bytes[0] & 1) != 0) {
    twill::parse_llmc_model_header(head, file_bytes);
  } else {
    twill::parse_llama2c_header(head, file_bytes);
  }
}
