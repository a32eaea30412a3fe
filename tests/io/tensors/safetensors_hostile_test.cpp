// SPDX-License-Identifier: Apache-2.0
// Files that lie. Each must be refused with a sentence that begins with the file's name, quickly
// and without a large allocation.
#include <cstring>
#include <ostream>

#include <gtest/gtest.h>

#include "io/error_text.h"
#include "io/repeated.h"
#include "io/temp_dir.h"
#include "io/tensors/safetensors.h"

namespace twill {
namespace {

std::string with_length(std::uint64_t length, std::string_view rest) {
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes.append(rest);
}

std::string file_of(std::string_view header, std::size_t data_bytes) {
  return with_length(header.size(), header) + std::string(data_bytes, 'd');
}

// A header with one tensor, whose fields are given.
std::string one_tensor(std::string_view fields, std::size_t data_bytes = 8) {
  return file_of("{\"w\":{" + std::string(fields) + "}}", data_bytes);
}

struct Hostile {
  const char* name;
  std::string bytes;
  std::string message;  // after the file's name; the beginning of it
};

void PrintTo(const Hostile& hostile, std::ostream* out) { *out << hostile.name; }

std::vector<Hostile> header_lengths() {
  return {
      {"Empty", "", "truncated: 0 bytes are too few for a header"},
      {"SevenBytes", "1234567", "truncated: 7 bytes are too few for a header"},
      {"LengthOnly", with_length(2, ""), "truncated: 2 bytes of header announced, the file has 0"},
      {"LengthBeyondFile", with_length(1000, "{}"),
       "truncated: 1,000 bytes of header announced, the file has 2"},
      {"LengthHuge", with_length(std::uint64_t{1} << 62, "{}"),
       "not a safetensors file: a header of 4611686018427387904 bytes, expected at most "
       "100,000,000"},
      {"LengthAllOnes", with_length(~std::uint64_t{0}, "{}"),
       "not a safetensors file: a header of 18446744073709551615 bytes"},
      {"LengthZero", with_length(0, "{}"), "not a safetensors file: the header does not begin"},
      {"LengthTooShort", with_length(5, R"({"w":{"dtype":"F32","shape":[2],)"),
       "not valid JSON at byte "},
  };
}

std::vector<Hostile> broken_json() {
  return {
      {"NotJson", file_of("hello", 0), "not a safetensors file: the header does not begin"},
      {"Array", file_of("[]", 0), "not a safetensors file: the header does not begin"},
      {"Unclosed", file_of(R"({"w":)", 0), "not valid JSON at byte "},
      {"Trailing", file_of("{} {}", 0), "not valid JSON at byte "},
      {"NotUtf8", file_of("{\"\xff\":{}}", 0), "not valid JSON at byte "},
      {"DeepArrays", file_of("{\"w\":" + repeated("[", 100'000), 0),
       "bad header: unexpected an array in tensor 'w'"},
      {"DeepObjects", file_of(repeated("{\"w\":", 100'000), 0),
       "bad header: unknown field 'w' in tensor 'w'"},
      {"DeepShape", one_tensor(R"("shape":[[[2]]])"),
       "bad header: unexpected an array in tensor 'w'"},
      {"TensorIsNumber", file_of(R"({"w":1})", 0), "bad header: unexpected a number in tensor 'w'"},
      {"TensorIsNull", file_of(R"({"w":null})", 0), "bad header: unexpected a null in tensor 'w'"},
      {"TensorIsTrue", file_of(R"({"w":true})", 0),
       "bad header: unexpected a boolean in tensor 'w'"},
      {"DuplicateTensor",
       file_of(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
               R"("w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
               2),
       "bad header: duplicate tensor 'w'"},
      {"DuplicateField", one_tensor(R"("dtype":"F32","dtype":"F64")"),
       "bad header: duplicate 'dtype' in tensor 'w'"},
      {"UnknownField", one_tensor(R"("dtype":"F32","strides":[1])"),
       "bad header: unknown field 'strides' in tensor 'w'"},
  };
}

std::vector<Hostile> bad_metadata() {
  return {
      {"MetadataNumber", file_of(R"({"__metadata__":{"a":1}})", 0),
       "bad header: unexpected a number in __metadata__"},
      {"MetadataNested", file_of(R"({"__metadata__":{"a":{"b":"c"}}})", 0),
       "bad header: unexpected an object in __metadata__"},
      {"MetadataNullValue", file_of(R"({"__metadata__":{"a":null}})", 0),
       "bad header: unexpected a null in __metadata__"},
      {"MetadataString", file_of(R"({"__metadata__":"a"})", 0),
       "bad header: unexpected a string in __metadata__"},
      {"MetadataDuplicate", file_of(R"({"__metadata__":{"a":"1","a":"2"}})", 0),
       "bad header: duplicate 'a' in __metadata__"},
      {"MetadataTwice", file_of(R"({"__metadata__":{},"__metadata__":{}})", 0),
       "bad header: duplicate tensor '__metadata__'"},
  };
}

std::vector<Hostile> bad_tensors() {
  return {
      {"NoDtype", one_tensor(R"("shape":[2],"data_offsets":[0,8])"),
       "bad header: tensor 'w' has no dtype"},
      {"NoShape", one_tensor(R"("dtype":"F32","data_offsets":[0,8])"),
       "bad header: tensor 'w' has no shape"},
      {"NoOffsets", one_tensor(R"("dtype":"F32","shape":[2])"),
       "bad header: tensor 'w' has no data_offsets"},
      {"DtypeUnknown", one_tensor(R"("dtype":"F33","shape":[2],"data_offsets":[0,8])"),
       "bad header: tensor 'w' has the unknown dtype 'F33'"},
      {"DtypeNumber", one_tensor(R"("dtype":32,"shape":[2],"data_offsets":[0,8])"),
       "bad header: unexpected a number in tensor 'w'"},
      {"ShapeNegative", one_tensor(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"),
       "bad header: negative number -2 in tensor 'w'"},
      {"ShapeFraction", one_tensor(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"),
       "bad header: unexpected a fraction in tensor 'w'"},
      {"ShapeText", one_tensor(R"("dtype":"F32","shape":["2"],"data_offsets":[0,8])"),
       "bad header: unexpected a string in tensor 'w'"},
      {"ShapeHuge",
       one_tensor(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8])"),
       "bad header: the size of tensor 'w' overflows"},
      {"ShapeOverflowsToRight",  // 2^62 + 2 floats are 8 bytes, modulo 2^64
       one_tensor(R"("dtype":"F32","shape":[4611686018427387906],"data_offsets":[0,8])"),
       "bad header: the size of tensor 'w' overflows"},
      {"ShapeBeyond64Bits",
       one_tensor(R"("dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8])"),
       "bad header: unexpected a number that is too large in tensor 'w'"},
      {"RankFive", one_tensor(R"("dtype":"F32","shape":[1,1,1,1,2],"data_offsets":[0,8])"),
       "bad header: tensor 'w' has more than 4 dimensions"},
      {"RankEndless", one_tensor(R"("shape":[)" + repeated("1,", 200'000) + "1]"),
       "bad header: tensor 'w' has more than 4 dimensions"},
      {"SizeMismatch", one_tensor(R"("dtype":"F32","shape":[3],"data_offsets":[0,8])"),
       "bad header: tensor 'w' of F32 (3) has 8 bytes, expected 12"},
  };
}

std::vector<Hostile> bad_offsets() {
  return {
      {"OffsetsBackwards", one_tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"),
       "bad header: tensor 'w' ends at 0 before it begins at 8"},
      {"OffsetsNegative", one_tensor(R"("dtype":"F32","shape":[2],"data_offsets":[-8,0])"),
       "bad header: negative number -8 in tensor 'w'"},
      {"OffsetsOne", one_tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8])"),
       "bad header: tensor 'w' needs two offsets"},
      {"OffsetsThree", one_tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8,8])"),
       "bad header: tensor 'w' has more than 2 offsets"},
      {"OffsetsOutside", one_tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,16])"),
       "truncated: header says 16 bytes of data, the file has 8"},
      {"OffsetsAtTheEndOfNumbers",
       one_tensor(R"("dtype":"F32","shape":[2],)"
                  R"("data_offsets":[9223372036854775799,9223372036854775807])"),
       "truncated: header says 9,223,372,036,854,775,807 bytes of data, the file has 8"},
      {"Truncated", one_tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", 7),
       "truncated: header says 8 bytes of data, the file has 7"},
      {"HoleAtTheBeginning", one_tensor(R"("dtype":"F32","shape":[2],"data_offsets":[4,12])", 12),
       "bad header: 4 unused bytes before tensor 'w'"},
      {"HoleAtTheEnd", one_tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])", 9),
       "header says 8 bytes of data, the file has 9"},
      {"HoleBetween",
       file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
               R"("b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})",
               6),
       "bad header: 2 unused bytes before tensor 'b'"},
      {"Overlap",
       file_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
               R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
               6),
       "bad header: tensor 'b' overlaps another one"},
      {"SameBytesTwice",
       file_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
               R"("b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
               4),
       "bad header: tensor 'b' overlaps another one"},
  };
}

std::vector<Hostile> all_hostile() {
  std::vector<Hostile> all;
  for (const auto& list :
       {header_lengths(), broken_json(), bad_metadata(), bad_tensors(), bad_offsets()})
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

class HostileSafetensors : public testing::TestWithParam<Hostile> {};

TEST_P(HostileSafetensors, IsRefusedWithASentence) {
  const TempDir folder;
  const std::string path = folder.write("bad.safetensors", GetParam().bytes);
  const std::string message = error_text([&] { SafetensorsFile file(path); });
  EXPECT_TRUE(message.starts_with(path + ": " + GetParam().message)) << message;
}

INSTANTIATE_TEST_SUITE_P(Files, HostileSafetensors, testing::ValuesIn(all_hostile()),
                         [](const auto& instance) { return std::string(instance.param.name); });

// What other programs write and is fine.
TEST(ForeignSafetensors, IsRead) {
  const TempDir folder;
  const std::string path = folder.write(
      "a", file_of(R"({"__metadata__":null,"b":{"data_offsets":[4,8],"shape":[2],"dtype":"F16"},)"
                   R"( "a" : {"dtype":"U8","shape":[4],"data_offsets":[0,4]}}   )",
                   8));
  const SafetensorsFile file(path);
  EXPECT_EQ(file.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_FALSE(file.verify_checksum());
  EXPECT_EQ(file.entry("b").dtype, std::nullopt);
  EXPECT_EQ(file.entry("b").dtype_name, "F16");
  std::vector<float> values(2);
  EXPECT_EQ(error_text([&] { file.read_into("b", view_of(values.data(), Shape{2})); }),
            path + ": tensor 'b': expected F32 (2), got F16 (2)");
}

TEST(ForeignSafetensors, AChecksumOfTheWrongFormIsDamage) {
  for (const char* value : {"", "123", "0000000000000000", "\\u0030000000000000000"}) {
    const TempDir folder;
    const std::string header =
        std::string(R"({"__metadata__":{"twill.checksum":")") + value + "\"}}";
    const SafetensorsFile file(folder.write("a", file_of(header, 0)));
    EXPECT_EQ(error_text([&] { file.verify_checksum(); }),
              file.path() + ": checksum mismatch: the file is damaged");
  }
}

}  // namespace
}  // namespace twill
