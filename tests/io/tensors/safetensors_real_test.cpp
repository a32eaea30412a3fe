// SPDX-License-Identifier: Apache-2.0
// Files that other programs wrote.
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "io/temp_dir.h"
#include "io/tensors/safetensors.h"
#include "tensor/tensor.h"

namespace twill {
namespace {

std::string model_path(std::string_view name) {
  const char* given = std::getenv("TWILL_DATA");
  const std::string data = given ? given : TWILL_SOURCE_DIR "/../shared/data";
  return data + "/models/" + std::string(name);
}

// Reads every tensor, and writes them again: the values must survive.
void expect_survives(const SafetensorsFile& file) {
  std::vector<Tensor> tensors;
  std::vector<TensorEntry> entries;
  for (const TensorInfo& info : file.entries()) {
    ASSERT_TRUE(info.dtype.has_value()) << info.name;
    Tensor& tensor = tensors.emplace_back(*info.dtype, info.shape);
    file.read_into(info.name, tensor.view());
    entries.push_back({info.name, std::as_const(tensor).view()});
  }
  const TempDir folder;
  write_safetensors(folder / "copy", entries, file.metadata());
  const SafetensorsFile copy(folder / "copy");
  EXPECT_TRUE(copy.verify_checksum());
  EXPECT_EQ(copy.metadata(), file.metadata());
  EXPECT_EQ(copy.names(), file.names());
  const auto data_of = [](const SafetensorsFile& of) {
    return content_of(of.path()).substr(static_cast<std::size_t>(of.entries()[0].offset));
  };
  EXPECT_EQ(data_of(copy), data_of(file));
}

struct Real {
  const char* name;
  std::size_t num_tensors;
};

class RealSafetensors : public testing::TestWithParam<Real> {};

TEST_P(RealSafetensors, IsReadWhole) {
  const std::string path = model_path(GetParam().name);
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "TWILL_DATA has no " << GetParam().name;
  const SafetensorsFile file(path);
  EXPECT_EQ(file.entries().size(), GetParam().num_tensors);
  EXPECT_FALSE(file.verify_checksum());
  expect_survives(file);
}

INSTANTIATE_TEST_SUITE_P(Files, RealSafetensors,
                         testing::Values(Real{"misc-safetensors/retsim.safetensors", 23},
                                         Real{"misc-safetensors/cellogpt_s2s.safetensors", 188},
                                         Real{"misc-safetensors/silero_vad_16k.safetensors", 15},
                                         Real{"stories260K/stories260K.safetensors", 47}),
                         [](const auto& instance) {
                           return "Number" + std::to_string(instance.index);
                         });

// The expected numbers were read from the file's bytes by a script that knows nothing of Twill.
TEST(RealSafetensors, ValuesAreThoseOfTheFile) {
  const std::string path = model_path("stories260K/stories260K.safetensors");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "TWILL_DATA has no stories260K";
  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.entry("model.embed_tokens.weight").shape, (Shape{512, 64}));
  std::vector<float> values(512 * 64);
  file.read_into("model.embed_tokens.weight", view_of(values.data(), Shape{512, 64}));
  EXPECT_EQ(values[0], -0x1.2dd2ap-2f);
  EXPECT_EQ(values[1], 0x1.1fb0c8p-1f);
  EXPECT_EQ(values[63], -0.4027080535888672f);
  EXPECT_EQ(values[64], -0.12708568572998047f);
  EXPECT_EQ(values.back(), -0.424032598733902f);
  double sum = 0.0, absolute = 0.0;
  for (const float value : values) {
    sum += double{value};
    absolute += std::abs(double{value});
  }
  // n additions in f64 are wrong by at most n eps Σ |x|.
  const double rounding = static_cast<double>(values.size()) * 0x1p-53 * absolute;
  EXPECT_NEAR(sum, -752.3677446640068, rounding);
}

}  // namespace
}  // namespace twill
