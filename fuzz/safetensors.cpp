// SPDX-License-Identifier: Apache-2.0
// A safetensors file: the header, every tensor Twill reads, the checksum.
#include "io/tensors/safetensors.h"

#include <vector>

#include "target.h"

TWILL_FUZZ(bytes) {
  const twill::MemoryFile memory(bytes);
  const twill::SafetensorsFile file(memory.path());
  for (const twill::TensorInfo& entry : file.entries()) {
    if (!entry.dtype) continue;
    std::vector<std::byte> values(static_cast<std::size_t>(entry.num_bytes));
    file.read_into(entry.name, twill::View(values.data(), *entry.dtype, entry.shape));
  }
  file.verify_checksum();
}
