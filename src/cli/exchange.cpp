// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/require.h"
#include "cli/commands.h"
#include "cli/screen/text_format.h"
#include "exchange/hf_export.h"
#include "io/json/json_value.h"
#include "models/model_config.h"
#include "train/model/any_model.h"
#include "train/model/export_model.h"
#include "train/model/import_model.h"
#include "train/run/checkpoint.h"
#include "train/run/run_folder.h"

namespace twill::cli {
namespace {

std::string describe(const ModelConfig& c) {
  return fmt::format("{}, {} layers, width {}, {} heads, context {}, vocabulary {}",
                     c.family == "llama" ? "LLaMA" : "GPT-2", c.layers, c.width, c.heads, c.context,
                     c.vocab);
}

void print_model(const ModelConfig& config, const std::string& dtype) {
  fmt::print("model       {}\nparameters  {}, {}\n", describe(config),
             format_count(static_cast<double>(num_parameters(config))), dtype);
}

}  // namespace

int run_export(const ExportCommand& command) {
  const AnyModel any = find_model(command.run, command.runs_dir);
  const std::unique_ptr<Tokenizer> tokenizer = open_model_tokenizer(any);
  const HfExportOptions options{.folder = command.folder,
                                .dtype = command.dtype == "bf16" ? DType::kBf16 : DType::kF32,
                                .max_shard_bytes = command.max_shard_bytes};
  const std::vector<WrittenFile> files = export_model(*any.source, tokenizer.get(), options);

  fmt::print("from        {}\n", any.source->path());
  print_model(any.source->config(), command.dtype);
  if (any.source->format() == "Twill") {
    if (const std::string runs = runs_of_checkpoint(any.source->path()); !runs.empty())
      fmt::print("trained     {}\n", runs);
    if (const std::int64_t layers = num_projected_layers(any.source->path()); layers > 0)
      fmt::print("weights     projected in {} matrices: the run stands in a sparse phase\n",
                 layers);
  }
  for (const WrittenFile& file : files)
    fmt::print("wrote       {}/{} ({})\n", command.folder, file.name, format_bytes(file.bytes));
  fmt::print(
      "\nIn Python: from transformers import AutoModelForCausalLM; model = "
      "AutoModelForCausalLM.from_pretrained({})\n",
      to_compact_json(command.folder));  // quoted as Python does
  return kDone;
}

int run_import(const ImportCommand& command) {
  const ImportReport report = import_model({.source = command.source,
                                            .name = command.name,
                                            .tokenizer = command.tokenizer,
                                            .runs_dir = command.runs_dir});
  fmt::print("from        {} ({})\n", command.source, report.format);
  print_model(report.model, report.dtype);
  fmt::print("tokenizer   {}, {} tokens\nrun         {}\n\n", report.tokenizer,
             report.tokenizer_vocab, report.folder);
  const std::string run = shell_quoted(report.folder), twill = command_name();
  fmt::print("let it write  {} sample {}\nmeasure it    {} eval {} --text FILE\n", twill, run,
             twill, run);
  fmt::print("train it on   {} train train.start_from={}\n", twill, run);
  return kDone;
}

}  // namespace twill::cli
