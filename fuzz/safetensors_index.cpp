// SPDX-License-Identifier: Apache-2.0
// model.safetensors.index.json: no file outside its folder is ever named.
#include "exchange/safetensors_set.h"
#include "target.h"

TWILL_FUZZ(bytes) {
  for (const auto& [tensor, file] : twill::parse_safetensors_index(bytes))
    if (file.find('/') != file.npos || file.empty() || file == "..") __builtin_trap();
}
