// SPDX-License-Identifier: Apache-2.0
#include "io/tensors/safetensors.h"

#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "io/error_text.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

// One tensor of each type, a scalar and an empty one among them.
class Tensors {
 public:
  Tensors() {
    std::iota(floats_.begin(), floats_.end(), 0.5f);
    std::iota(integers_.begin(), integers_.end(), -2);
  }
  std::vector<TensorEntry> entries() const {
    return {{"layer.0.weight", view_of(floats_.data(), Shape{2, 3})},
            {"bytes \"quoted\"", view_of(bytes_.data(), Shape{3})},
            {"scalar", view_of(&scalar_, Shape{})},
            {"empty", view_of(floats_.data(), Shape{0, 4})},
            {"ids", view_of(integers_.data(), Shape{1, 2, 1, 2})},
            {"half", view_of(halves_.data(), Shape{2})}};
  }

 private:
  std::vector<float> floats_ = std::vector<float>(6);
  std::vector<std::uint8_t> bytes_ = {1, 2, 255};
  double scalar_ = 0.1;
  std::vector<std::int32_t> integers_ = std::vector<std::int32_t>(4);
  std::vector<Bf16> halves_ = {to_bf16(1.5f), to_bf16(-2.0f)};
};

const std::map<std::string, std::string> kMetadata = {{"step", "120"}, {"format", "twill"}};

class Safetensors : public testing::Test {
 protected:
  std::string write(std::string_view name = "a.safetensors") {
    write_safetensors(folder_ / name, tensors_.entries(), kMetadata);
    return folder_ / name;
  }
  TempDir folder_;
  Tensors tensors_;
};

TEST_F(Safetensors, RoundTrip) {
  const SafetensorsFile file(write());
  EXPECT_EQ(file.metadata(), kMetadata);
  EXPECT_TRUE(file.verify_checksum());
  ASSERT_EQ(file.entries().size(), tensors_.entries().size());
  for (const TensorEntry& entry : tensors_.entries()) {
    const TensorInfo& info = file.entry(entry.name);
    EXPECT_EQ(info.dtype, entry.view.dtype());
    EXPECT_EQ(info.shape, entry.view.shape());
    std::vector<std::byte> bytes(static_cast<std::size_t>(entry.view.num_bytes()) + 1);
    file.read_into(entry.name, View(bytes.data(), entry.view.dtype(), entry.view.shape()));
    EXPECT_EQ(std::memcmp(bytes.data(), entry.view.bytes(), bytes.size() - 1), 0) << entry.name;
  }
  EXPECT_TRUE(file.contains("ids"));
  EXPECT_FALSE(file.contains("id"));
}

TEST_F(Safetensors, LayoutIsTheFormats) {
  const std::string bytes = content_of(write());
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), 8);
  EXPECT_EQ(header_bytes % 8, 0u);
  const std::string header = bytes.substr(8, header_bytes);
  EXPECT_TRUE(
      header.starts_with(R"({"__metadata__":{"format":"twill","step":"120","twill.checksum":")"));
  EXPECT_NE(header.find(R"("layer.0.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                        R"("bytes \"quoted\"":{"dtype":"U8","shape":[3],"data_offsets":[24,27]},)"
                        R"("scalar":{"dtype":"F64","shape":[],"data_offsets":[27,35]},)"
                        R"("empty":{"dtype":"F32","shape":[0,4],"data_offsets":[35,35]},)"
                        R"("ids":{"dtype":"I32","shape":[1,2,1,2],"data_offsets":[35,51]},)"
                        R"("half":{"dtype":"BF16","shape":[2],"data_offsets":[51,55]}})"),
            std::string::npos)
      << header;
  EXPECT_EQ(bytes.size(), 8 + header_bytes + 55);
}

TEST_F(Safetensors, EqualStatesAreEqualBytes) {
  EXPECT_EQ(content_of(write("a")), content_of(write("b")));
  EXPECT_EQ(folder_.num_entries(), 2u);
}

// Any floating type as f32; a value that is stored in f64 is rounded.
TEST_F(Safetensors, ReadsFloatingTypesAsF32) {
  const std::vector<double> wide{1.0 / 3.0, -2.0};
  const std::vector<Bf16> half(100'000, to_bf16(-1.25f));  // more than one piece of the reader
  const std::vector<std::int32_t> ids{7};
  const std::vector<TensorEntry> entries{{"wide", view_of(wide.data(), Shape{2})},
                                         {"half", view_of(half.data(), Shape{100'000})},
                                         {"ids", view_of(ids.data(), Shape{1})}};
  write_safetensors(folder_ / "mixed", entries, {});
  const SafetensorsFile file(folder_ / "mixed");
  std::vector<float> values(100'000);
  file.read_floats("wide", values.data());
  EXPECT_EQ(values[0], 1.0f / 3.0f);
  EXPECT_EQ(values[1], -2.0f);
  file.read_floats("half", values.data());
  EXPECT_EQ(values, std::vector<float>(100'000, -1.25f));
  EXPECT_EQ(error_text([&] { file.read_floats("ids", values.data()); }),
            file.path() + ": tensor 'ids' is I32, expected F32, F16, BF16 or F64");
}

TEST_F(Safetensors, NoTensorsAtAll) {
  write_safetensors(folder_ / "none", std::span<const TensorEntry>{}, {});
  const SafetensorsFile file(folder_ / "none");
  EXPECT_TRUE(file.names().empty());
  EXPECT_TRUE(file.verify_checksum());
}

// A piece of the reader is a megabyte: the digits may lie across the end of one.
TEST_F(Safetensors, ChecksumDigitsAcrossPieces) {
  for (std::size_t padding = (1 << 20) - 80; padding < (1 << 20); padding += 5) {
    write_safetensors(folder_ / "a", tensors_.entries(), {{"a", std::string(padding, 'x')}});
    EXPECT_TRUE(SafetensorsFile(folder_ / "a").verify_checksum()) << padding;
  }
}

// The promise of the checksum: no single changed byte is accepted, wherever it is.
TEST_F(Safetensors, EveryChangedByteIsFound) {
  const std::string good = content_of(write());
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    const std::string path = folder_.write("bad" + std::to_string(at), bad);
    bool verified = false;
    const std::string message =
        error_text([&] { verified = SafetensorsFile(path).verify_checksum(); });
    EXPECT_FALSE(verified) << "byte " << at;
    // The one way without an error: the name of the checksum's own key is damaged.
    const bool lost_key =
        message == "(no error)" && SafetensorsFile(path).metadata().size() == kMetadata.size() + 1;
    EXPECT_TRUE(lost_key || message.starts_with(path + ": ")) << message;
  }
}

TEST_F(Safetensors, EveryTruncationIsFound) {
  const std::string good = content_of(write());
  for (std::size_t length = 0; length < good.size(); ++length) {
    const std::string path = folder_.write("cut" + std::to_string(length), good.substr(0, length));
    const std::string message = error_text([&] { SafetensorsFile file(path); });
    EXPECT_TRUE(message.starts_with(path + ": truncated: ")) << length << ": " << message;
  }
}

TEST_F(Safetensors, MismatchNamesFileTensorExpectedAndGot) {
  const std::string path = write();
  const SafetensorsFile file(path);
  std::vector<float> values(64);
  EXPECT_EQ(error_text([&] {
              file.read_into("layer.0.weight", view_of(values.data(), Shape{3, 2}));
            }),
            path + ": tensor 'layer.0.weight': expected F32 (3, 2), got F32 (2, 3)");
  EXPECT_EQ(error_text([&] { file.read_into("half", view_of(values.data(), Shape{2})); }),
            path + ": tensor 'half': expected F32 (2), got BF16 (2)");
  EXPECT_EQ(error_text([&] { file.read_into("nope", view_of(values.data(), Shape{2})); }),
            path + ": no tensor named 'nope'");
}

TEST_F(Safetensors, DamageIsNamed) {
  std::string bytes = content_of(write());
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  const std::string path = folder_.write("bad", bytes);
  const SafetensorsFile file(path);
  EXPECT_EQ(error_text([&] { file.verify_checksum(); }),
            path + ": checksum mismatch: the file is damaged");
}

TEST_F(Safetensors, TruncationIsNamed) {
  const std::string bytes = content_of(write());
  const std::string path = folder_.write("bad", bytes.substr(0, bytes.size() - 5));
  EXPECT_EQ(error_text([&] { SafetensorsFile file(path); }),
            path + ": truncated: header says 55 bytes of data, the file has 50");
}

TEST_F(Safetensors, NoSuchFileAndNotAFile) {
  EXPECT_EQ(error_text([&] { SafetensorsFile file(folder_ / "none"); }),
            "cannot read " + (folder_ / "none") + ": No such file or directory");
  EXPECT_EQ(error_text([&] { SafetensorsFile file(folder_.path()); }),
            "cannot read " + folder_.path() + ": not a file");
}

TEST_F(Safetensors, FailedWritesLeaveNothing) {
  const std::string path = folder_ / "none/a";
  EXPECT_EQ(error_text([&] { write_safetensors(path, tensors_.entries(), {}); }),
            "cannot write " + path + ": No such file or directory; create the folder first");
  EXPECT_EQ(folder_.num_entries(), 0u);
}

}  // namespace
}  // namespace twill
