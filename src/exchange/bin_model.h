// SPDX-License-Identifier: Apache-2.0
// Models as plain numbers behind a small header: llm.c and llama2.c.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "exchange/model_source.h"
#include "exchange/placement.h"
#include "io/tensors/float_bytes.h"

namespace twill {

// What a file holds, by its header. Placements without a parameter are passed over.
struct BinModel {
  std::string_view format;
  ModelConfig config;  // resolved
  FloatFormat numbers = FloatFormat::kF32;
  std::int64_t first_byte = 0;
  std::vector<Placement> tensors;  // in the order of the file, without holes
};

// The longest header of the formats.
inline constexpr std::int64_t kBinHeaderBytes = 1024;

// llm.c: 256 int32 with the magic 20240326; version 3 is fp32, 5 is bf16. `head` holds the first
// kBinHeaderBytes of the file, or all of a shorter one. Throws twill::Error, without a path, when
// the header and the size of the file do not agree.
BinModel parse_llmc_model_header(std::string_view head, std::int64_t file_bytes);

// llama2.c: the first format, seven int32 without a magic, or version 1 with "ak42" and 256 bytes.
BinModel parse_llama2c_header(std::string_view head, std::int64_t file_bytes);

// A .bin file of either kind; refuses pickled files and token shards by what they are.
std::unique_ptr<ModelSource> open_bin_model(const std::string& path);

}  // namespace twill
