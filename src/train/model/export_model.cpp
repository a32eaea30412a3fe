// SPDX-License-Identifier: Apache-2.0
#include "train/model/export_model.h"

#include <memory>

#include "models/model.h"
#include "train/model/finite_weights.h"
#include "train/step/memory_use.h"

namespace twill {

std::vector<WrittenFile> export_model(const ModelSource& source, const Tokenizer* tokenizer,
                                      const HfExportOptions& options) {
  const ModelConfig& config = source.config();
  require_exportable(config, options);
  const Context context(cpu_table(), 1);
  Builder builder(context, {.dtype = DType::kF32, .training = false});
  const std::unique_ptr<Model> registered = make_model(builder, config);
  require_memory(context, builder.memory_table());
  builder.commit();
  source.load(builder);
  require_finite_weights(builder, source.path());
  return export_hf(builder, config, tokenizer, options);
}

}  // namespace twill
