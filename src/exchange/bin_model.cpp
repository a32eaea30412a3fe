// SPDX-License-Identifier: Apache-2.0
#include "exchange/bin_model.h"

#include "exchange/bin_header.h"
#include "exchange/hf_source.h"
#include "io/input_file.h"

namespace twill {
namespace {

constexpr std::int32_t kLlmcModel = 20240326, kLlmcTokens = 20240520;

// A zip archive of PyTorch's, or a bare pickle: 0x80 and the protocol. The first format of llama2.c
// with dim = 640 begins with the same two bytes, but then come two zeros.
bool is_pickled(std::string_view path, std::string_view head) {
  // Protocol 0 is text without a mark; by its name PyTorch wrote it all the same.
  if (path.ends_with(".pt") || path.ends_with(".pth") || path.ends_with(".pkl")) return true;
  if (head.starts_with("PK\x03\x04")) return true;
  return head.size() >= 4 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5 &&
         (head[2] != 0 || head[3] != 0);
}

BinModel parse_header(std::string_view head, std::int64_t file_bytes) {
  const std::int32_t first = head.size() >= 4 ? int32_at(head, 0) : 0;
  if (first == kLlmcModel) return parse_llmc_model_header(head, file_bytes);
  require(first != kLlmcTokens, "holds tokens of llm.c, not a model");
  return parse_llama2c_header(head, file_bytes);
}

class BinSource final : public ModelSource {
 public:
  explicit BinSource(const std::string& path) : file_(path) {
    const std::string head = file_.head(kBinHeaderBytes);
    if (is_pickled(path, head)) refuse_pickle(path);
    try {
      model_ = parse_header(head, file_.num_bytes());
    } catch (const Error& error) {
      fail("{}: {}", path, error.what());
    }
  }

  const std::string& path() const override { return file_.path(); }
  std::string_view format() const override { return model_.format; }
  std::string dtype() const override {
    return model_.numbers == FloatFormat::kF32 ? "F32" : "BF16";
  }
  const ModelConfig& config() const override { return model_.config; }

  void load(Builder& builder) const override {
    std::vector<float> scratch;
    std::int64_t offset = model_.first_byte;
    for (const Placement& placement : model_.tensors) {
      const std::int64_t count = placement.shape.num_elements();
      if (!placement.parameter.empty()) {
        scratch.resize(static_cast<std::size_t>(count));
        read_as_f32(
            model_.numbers, count,
            [&](std::int64_t first, void* bytes, std::int64_t num_bytes) {
              file_.read_at(offset + first, bytes, num_bytes);
            },
            scratch.data());
        place(scratch.data(), placement, parameter_named(builder, placement.parameter).value);
      }
      offset += count * size_of(model_.numbers);
    }
  }

 private:
  InputFile file_;
  BinModel model_;
};

}  // namespace

std::unique_ptr<ModelSource> open_bin_model(const std::string& path) {
  return std::make_unique<BinSource>(path);
}

}  // namespace twill
