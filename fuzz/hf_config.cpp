// SPDX-License-Identifier: Apache-2.0
// config.json of Hugging Face: what was accepted is expressible, written and read again.
#include "exchange/hf_config.h"

#include "io/json/json_value.h"
#include "target.h"

TWILL_FUZZ(bytes) {
  const twill::ModelConfig config = twill::parse_hf_config(bytes);
  twill::require_expressible(config);
  twill::parse_hf_config(twill::to_json(twill::hf_config(config, "float32", {})));
}
