// SPDX-License-Identifier: Apache-2.0
#include "io/packed/byte_source.h"

#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/error_text.h"
#include "io/packed/pack.h"
#include "io/temp_dir.h"
#include "support/expect_error.h"

namespace twill {
namespace {

// About 440 kB: more than one buffer of every layer.
std::string long_text() {
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += fmt::format("line {}\n", i * 7919 % 100'003);
  return text;
}

std::string unpack(std::string bytes) {
  return read_all(*byte_source_of(std::move(bytes), "memory"), 1u << 24);
}

struct Packer {
  const char* name;
  std::string (*pack)(std::string_view);
};
std::vector<Packer> packers() {
  return {
      {"gzip", gzip_of}, {"xz", [](std::string_view t) { return xz_of(t); }}, {"zstd", zstd_of}};
}

TEST(ByteSource, PlainFilesAsTheyAre) {
  const TempDir folder;
  for (const std::string& text : {std::string(), std::string("a"), long_text()}) {
    const auto source = open_byte_source(folder.write("t.xz", text));
    EXPECT_EQ(source->compression(), "none");
    EXPECT_EQ(read_all(*source), text);
    EXPECT_EQ(source->file_position(), std::ssize(text));
  }
}

TEST(ByteSource, UnpacksByTheFirstBytesNotTheName) {
  const TempDir folder;
  const std::string text = long_text();
  for (const Packer& packer : packers()) {
    const std::string packed = packer.pack(text);
    const auto source = open_byte_source(folder.write("t.txt", packed));
    EXPECT_EQ(source->compression(), packer.name);
    EXPECT_EQ(read_all(*source), text) << packer.name;
    EXPECT_EQ(source->file_position(), std::ssize(packed)) << packer.name;
    std::vector<char> more(8);
    EXPECT_EQ(source->read(more), 0u) << "the end stays the end: " << packer.name;
    EXPECT_EQ(unpack(packer.pack("")), "") << packer.name;
  }
}

TEST(ByteSource, OneByteAtATime) {
  for (const Packer& packer : packers()) {
    const auto source = byte_source_of(packer.pack("hello"), "memory");
    std::string text;
    for (char c = 0; source->read(std::span(&c, 1)) == 1;) text += c;
    EXPECT_EQ(text, "hello") << packer.name;
  }
}

TEST(ByteSource, PackedPiecesOneAfterTheOther) {
  for (const Packer& packer : packers())
    EXPECT_EQ(unpack(packer.pack("ab") + packer.pack("") + packer.pack("cd")), "abcd")
        << packer.name;
  EXPECT_EQ(unpack(gzip_of("ab") + std::string(600'000, '\0')), "ab");
}

TEST(ByteSourceErrors, EveryCutIsSeen) {
  for (const Packer& packer : packers()) {
    const std::string packed = packer.pack("a text that is long enough to be cut anywhere");
    for (std::size_t length = 6; length < packed.size(); ++length)
      EXPECT_EQ(error_text([&] { unpack(packed.substr(0, length)); }),
                fmt::format("memory: the {} data ends too early; the file is cut off", packer.name))
          << length;
  }
}

TEST(ByteSourceErrors, DamageIsSeen) {
  const std::string text = long_text();
  for (const Packer& packer : packers()) {
    std::string packed = packer.pack(text);
    for (std::size_t i = 0; i < 64; ++i) packed[packed.size() / 2 + i] ^= '\x55';
    // zstd without a checksum may notice damage only in the structure.
    if (packer.name == std::string("zstd") && error_text([&] { unpack(packed); }) == "(no error)")
      continue;
    expect_error([&] { unpack(packed); },
                 fmt::format("memory: the {} data is damaged", packer.name));
  }
  expect_error([] { unpack(gzip_of("a") + "rubbish"); }, "something else follows it");
  expect_error([] { unpack(xz_of("a") + "much rubbish"); }, "memory: the xz data is damaged");
  expect_error([] { unpack(zstd_of("a") + "rubbish!"); }, "memory: the zstd data is damaged");
}

TEST(ByteSourceErrors, AHugeDictionaryIsRefused) {
  // The sizes stand in the headers: nothing of the kind is allocated here.
  expect_error([] { unpack(xz_of("a", 1536u << 20)); }, "memory: unpacking needs 1");
  // A zstd frame: magic, descriptor without single segment, window byte 2^(10 + 18).
  expect_error([] { unpack(std::string("\x28\xb5\x2f\xfd\x00\x90\x01\x00\x00", 9)); },
               "memory: unpacking needs more than the 128 MiB");
}

TEST(ByteSourceErrors, ABombIsStoppedAtTheBound) {
  const std::string zeros(std::size_t{2} << 20, '\0');
  for (const Packer& packer : packers())
    EXPECT_EQ(error_text([&] { read_all(*byte_source_of(packer.pack(zeros), "b"), 1000); }),
              "b: larger than 1000 bytes when unpacked");
  EXPECT_EQ(error_text([] { read_all(*byte_source_of("abcd", "b"), 3); }),
            "b: larger than 3 bytes");
  EXPECT_EQ(read_all(*byte_source_of("abcd", "b"), 4), "abcd");
}

TEST(ByteSourceErrors, NamesTheFile) {
  const TempDir folder;
  EXPECT_EQ(error_text([&] { open_byte_source(folder / "none"); }),
            "cannot read " + (folder / "none") + ": No such file or directory");
  EXPECT_EQ(error_text([&] { open_byte_source(folder.path()); }),
            "cannot read " + folder.path() + ": Is a directory");
}

TEST(LineReader, LinesOfEveryKind) {
  const auto source = byte_source_of("a\n\nb\r\nlast", "m");
  LineReader lines(*source);
  for (const char* want : {"a", "", "b\r"}) {
    EXPECT_EQ(lines.next(), want);
    EXPECT_TRUE(lines.had_line_end());
  }
  EXPECT_EQ(lines.next(), "last");
  EXPECT_FALSE(lines.had_line_end());
  EXPECT_EQ(lines.line_number(), 4);
  EXPECT_EQ(lines.next(), std::nullopt);
  EXPECT_EQ(lines.next(), std::nullopt);
}

TEST(LineReader, LinesLongerThanTheBuffer) {
  const std::string longest(700'000, 'x'), text = "a\n" + longest + "\n" + longest;
  const auto source = byte_source_of(gzip_of(text), "m");
  LineReader lines(*source);
  EXPECT_EQ(lines.next(), "a");
  EXPECT_EQ(lines.next(), longest);
  EXPECT_EQ(lines.next(), longest);
  EXPECT_EQ(lines.next(), std::nullopt);
}

TEST(LineReader, ALineThatNeverEndsIsRefused) {
  const auto source = byte_source_of(gzip_of("ok\n" + std::string(std::size_t{2} << 20, 'x')), "m");
  LineReader lines(*source, 1000);
  EXPECT_EQ(lines.next(), "ok");
  EXPECT_EQ(error_text([&] { lines.next(); }), "m: line 2 is longer than 1000 bytes");
  const auto exact = byte_source_of("1234\n12345\n", "m");
  LineReader four(*exact, 4);
  EXPECT_EQ(four.next(), "1234");
  EXPECT_EQ(error_text([&] { four.next(); }), "m: line 2 is longer than 4 bytes");
}

TEST(ByteSource, ABombIsRefusedWhileItUnpacks) {
  // 1 GiB of zeros, a member or frame at a time.
  const std::string zeros(std::size_t{1} << 24, '\0');
  for (const Packer& packer : packers()) {
    const std::string one = packer.pack(zeros);
    std::string bomb;
    for (int i = 0; i < 64; ++i) bomb += one;
    const auto source = byte_source_of(bomb, "bomb");
    std::vector<char> piece(1 << 20);
    std::int64_t unpacked = 0;
    const std::string message = error_text([&] {
      while (const std::size_t bytes = source->read(piece))
        unpacked += static_cast<std::int64_t>(bytes);
    });
    EXPECT_EQ(
        message,
        "bomb: unpacks to more than 400 times its size, as no text does; unpack it yourself if "
        "it is meant so")
        << packer.name;
    EXPECT_LE(unpacked, kAlwaysUnpacked + kMaxUnpackRatio * std::ssize(bomb)) << packer.name;
  }
}

TEST(ByteSource, SmallThingsMayBeAsEmptyAsTheyLike) {
  for (const Packer& packer : packers())
    EXPECT_EQ(unpack(packer.pack(std::string(std::size_t{1} << 23, 'a'))).size(),
              std::size_t{1} << 23)
        << packer.name;
}

}  // namespace
}  // namespace twill
