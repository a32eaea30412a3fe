// SPDX-License-Identifier: Apache-2.0
#include "exchange/model_source.h"

#include <filesystem>
#include <system_error>

#include "exchange/bin_model.h"
#include "exchange/hf_source.h"
#include "io/input_file.h"

namespace twill {
namespace {

// By its content where the name does not say: the JSON header begins at byte 8.
bool is_safetensors(const std::string& path) {
  if (path.ends_with(".safetensors")) return true;
  const std::string head = InputFile(path).head(9);
  return head.size() == 9 && head[8] == '{';
}

}  // namespace

std::unique_ptr<ModelSource> open_model_source(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return open_hf_folder(path);
  return is_safetensors(path) ? open_hf_file(path) : open_bin_model(path);
}

}  // namespace twill
