// SPDX-License-Identifier: Apache-2.0
#include "train/model/import_model.h"

#include <memory>
#include <utility>

#include "base/require.h"
#include "exchange/source_tokenizer.h"
#include "io/atomic_file.h"
#include "io/config/toml_config.h"
#include "models/model.h"
#include "train/model/any_model.h"
#include "train/model/finite_weights.h"
#include "train/run/checkpoint.h"
#include "train/run/run_folder.h"
#include "train/step/memory_use.h"

namespace twill {
ImportReport import_model(const ImportRequest& request) {
  AnyModel any{.source = open_any_source(request.source), .config = {}, .tokenizer = {}};
  const ModelConfig& model = any.source->config();
  any.tokenizer =
      request.tokenizer.empty() ? tokenizer_beside(request.source, model.vocab) : request.tokenizer;
  const std::unique_ptr<Tokenizer> tokenizer = open_model_tokenizer(any);

  const Context context(cpu_table(), 1);
  Builder builder(context, {.dtype = DType::kF32, .training = false});
  const std::unique_ptr<Model> registered = make_model(builder, model);
  require_memory(context, builder.memory_table());
  builder.commit();
  any.source->load(builder);
  require_finite_weights(builder, request.source);

  RunConfig config;
  config.run.name = request.name;
  config.run.dir = request.runs_dir;
  config.model = model;
  RunFolder folder = RunFolder::create(config);
  save_run_tokenizer(folder, tokenizer.get());
  config.run.name = folder.name();
  config.data.tokenizer = tokenizer == nullptr         ? kNoTokenizer
                          : tokenizer->files().empty() ? "byte"
                                                       : folder.tokenizer_dir();
  save_imported(folder.checkpoints(), builder, model, request.source);
  folder.write("config.toml", write_toml(config));
  return {.folder = folder.path(),
          .format = std::string(any.source->format()),
          .dtype = any.source->dtype(),
          .tokenizer = tokenizer != nullptr ? std::string(tokenizer->name()) : kNoTokenizer,
          .tokenizer_vocab = vocab_size_of(tokenizer.get()),
          .model = model};
}

}  // namespace twill
