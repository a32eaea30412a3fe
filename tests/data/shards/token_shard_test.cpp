// SPDX-License-Identifier: Apache-2.0
#include "data/shards/token_shard.h"

#include <cstring>

#include <gtest/gtest.h>

#include "base/hash.h"
#include "data/shards/shard_writer.h"
#include "io/error_text.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

template <class T>
std::string raw(std::initializer_list<T> values) {
  std::string bytes;
  for (const T value : values) bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}

std::string padded(std::string head, std::size_t size = 1024) {
  head.resize(size, '\0');
  return head;
}

// Two documents: sequences of 2 and 1 tokens, and one of 3.
std::string megatron_index(std::uint8_t code = 8, std::int64_t width = 2) {
  return std::string("MMIDIDX\0\0", 9) + raw<std::uint64_t>({1}) + raw<std::uint8_t>({code}) +
         raw<std::uint64_t>({3, 3}) + raw<std::int32_t>({2, 1, 3}) +
         raw<std::int64_t>({0, 2 * width, 3 * width}) + raw<std::int64_t>({0, 2, 3});
}

std::vector<std::int32_t> ids_of(const std::string& path) {
  const TokenSequence tokens = TokenShard::tokens(TokenShard::open(path));
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens.size()));
  tokens.copy(0, tokens.size(), ids.data());
  return ids;
}

TEST(TokenShard, Llmc) {
  const TempDir folder;
  const std::vector<std::int32_t> small{50'256, 0, 65'535}, large{128'000, 7, 2'147'483'647};
  write_llmc_shard(folder / "a.bin", small, 2);
  write_llmc_shard(folder / "b", large, 4);
  EXPECT_EQ(ids_of(folder / "a.bin"), small);
  EXPECT_EQ(ids_of(folder / "b"), large);
  EXPECT_EQ(TokenShard::open(folder / "b")->layout().version, 7);
  const std::string bytes = content_of(folder / "a.bin");
  EXPECT_EQ(bytes, padded(raw<std::int32_t>({20'240'520, 1, 3})) +
                       raw<std::uint16_t>({50'256, 0, 65'535}));
  const ShardScan scan = scan_shard(*TokenShard::open(folder / "a.bin"));
  EXPECT_EQ(scan.smallest, 0);
  EXPECT_EQ(scan.largest, 65'535);
  EXPECT_EQ(scan.hash, hash_bytes(bytes.data(), bytes.size()));
}

TEST(TokenShard, NanoGpt) {
  const TempDir folder;
  const std::string path = folder.write("train.bin", raw<std::uint16_t>({1, 50'256, 3}));
  EXPECT_EQ(TokenShard::open(path)->format(), ShardFormat::kNanoGpt);
  EXPECT_EQ(ids_of(path), (std::vector<std::int32_t>{1, 50'256, 3}));
  EXPECT_EQ(recognise_shard(folder.write("t.txt", "some text, no tokens")), std::nullopt);
}

TEST(TokenShard, Megatron) {
  const TempDir folder;
  folder.write("m.idx", megatron_index());
  const std::string path = folder.write("m.bin", raw<std::uint16_t>({5, 6, 7, 8, 9, 10}));
  const auto shard = TokenShard::open(path);
  EXPECT_EQ(shard->format(), ShardFormat::kMegatron);
  EXPECT_EQ(ids_of(path), (std::vector<std::int32_t>{5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(shard->document_starts(), (std::vector<std::int64_t>{0, 3}));
  // With the modes of multimodal data behind it, and 8-byte tokens.
  folder.write("m.idx", megatron_index(5, 8) + std::string(3, '\0'));
  folder.write("m.bin", raw<std::int64_t>({5, 6, 7, 8, 9, 1'000'000}));
  EXPECT_EQ(ids_of(path).back(), 1'000'000);
}

TEST(TokenShard, BinTok) {
  const TempDir folder;
  const std::string head = "BIN.TOK\n" + raw<std::int32_t>({2, 4, 2, 151'936, 1});
  const std::string path =
      folder.write("q.bin", padded(head) + raw<std::int32_t>({151'935, 3}) + "\x03");
  EXPECT_EQ(ids_of(path), (std::vector<std::int32_t>{151'935, 3}));
  EXPECT_EQ(TokenShard::open(path)->layout().vocab_size, 151'936);
}

TEST(TokenShardErrors, LyingHeaders) {
  const auto llmc = [](std::int32_t magic, std::int32_t version, std::int32_t count,
                       std::int64_t bytes) {
    const std::string head = padded(raw<std::int32_t>({magic, version, count}));
    return error_text([&] { parse_llmc_header(head, bytes, "a.bin"); });
  };
  EXPECT_EQ(llmc(20'240'520, 1, 5, 1034), "(no error)");
  EXPECT_EQ(llmc(20'240'520, 1, 6, 1034),
            "a.bin: the header promises 6 tokens, 1036 bytes in all, but the file has 1034");
  EXPECT_EQ(llmc(20'240'520, 1, 4, 1034),
            "a.bin: the header promises 4 tokens, 1032 bytes in all, but the file has 1034");
  EXPECT_EQ(llmc(20'240'520, 1, -1, 1034), "a.bin: the header promises -1 tokens");
  EXPECT_EQ(llmc(20'240'520, 2, 5, 1034), "a.bin: llm.c shard of version 2, expected 1");
  EXPECT_EQ(llmc(20'240'801, 7, 2'147'483'647, 1034),
            "a.bin: the header promises 2147483647 tokens, 8589935612 bytes in all, but the file "
            "has 1034");
  EXPECT_EQ(llmc(7, 1, 5, 1034), "a.bin: not an llm.c shard: magic 7");
  EXPECT_EQ(error_text([] { parse_llmc_header("short", 5, "a.bin"); }),
            "a.bin: 5 bytes are too few for the header of an llm.c shard, which has 1024");
  const auto bin_tok = [](std::initializer_list<std::int32_t> fields) {
    const std::string head = padded("BIN.TOK\n" + raw(fields));
    return error_text([&] { parse_bin_tok_header(head, 1032, "q"); });
  };
  EXPECT_EQ(bin_tok({2, 4, 2, 9}), "(no error)");
  EXPECT_EQ(bin_tok({2, 4, 3, 9}),
            "q: the header promises 3 tokens, at least 1036 bytes in all, but the file has 1032");
  EXPECT_EQ(bin_tok({2, 4, -3, 9}), "q: the header promises -3 tokens");
  EXPECT_EQ(bin_tok({2, 4, 2, 0}), "q: the header promises a vocabulary of 0");
  EXPECT_EQ(bin_tok({9, 4, 2, 9}), "q: BIN.TOK file of version 9, expected 2 or 3");
  EXPECT_EQ(bin_tok({2, 2, 2, 9}), "q: BIN.TOK file with 2 bytes per token, expected 4");
  EXPECT_EQ(error_text([] { parse_bin_tok_header(padded("x"), 1032, "q"); }),
            "q: not a BIN.TOK file");
  EXPECT_EQ(error_text([] { parse_bin_tok_header("BIN.TOK\n", 8, "q"); }),
            "q: 8 bytes are too few for the header of a BIN.TOK file, which has 1024");
  EXPECT_EQ(error_text([] { raw_layout(7, "r.bin"); }),
            "r.bin: 7 bytes, an odd number: neither a known header nor plain uint16 tokens");
}

TEST(TokenShardErrors, HostileMegatronIndex) {
  const auto message = [](std::size_t at, std::uint64_t value, std::size_t bytes) {
    std::string index = megatron_index();
    std::memcpy(index.data() + at, &value, bytes);
    return error_text([&] { parse_megatron_index(index, 12, "m.idx"); });
  };
  EXPECT_EQ(message(9, 1, 8), "(no error)");
  EXPECT_EQ(message(9, 2, 8), "m.idx: Megatron index of version 2, expected 1");
  EXPECT_EQ(message(17, 7, 1),
            "m.idx: tokens of type code 7, expected an integer type (1 to 5, or 8)");
  EXPECT_EQ(message(18, ~std::uint64_t{0}, 8),
            "m.idx: the header promises 18446744073709551615 sequences and 3 document bounds, too "
            "many for 94 bytes");
  EXPECT_EQ(message(26, std::uint64_t{1} << 61, 8),
            "m.idx: the header promises 3 sequences and 2305843009213693952 document bounds, too "
            "many for 94 bytes");
  EXPECT_EQ(message(18, 2, 8),
            "m.idx: 12 bytes are left over behind 2 sequences and 3 document bounds");
  EXPECT_EQ(message(34, 0xffff'ffffu, 4), "m.idx: sequence 0 has -1 tokens");
  EXPECT_EQ(message(34, 7, 4), "m.idx: sequence 0 ends at token 7, but the .bin file holds 6");
  EXPECT_EQ(
      message(54, 8, 8),
      "m.idx: sequence 1 begins at byte 8, expected 4: only sequences that follow one another "
      "are read");
  EXPECT_EQ(message(78, 4, 8), "m.idx: document bound 1 is sequence 4, expected 0 to 3");
  EXPECT_EQ(message(86, 1, 8), "m.idx: document bound 2 is sequence 1, expected 2 to 3");
  EXPECT_EQ(message(0, 0, 4), "m.idx: not a Megatron index: it does not begin with MMIDIDX");
  EXPECT_EQ(error_text([] { parse_megatron_index(megatron_index(), 14, "m.idx"); }),
            "m.idx: the sequences have 6 tokens, 12 bytes in all, but the .bin file has 14");
  for (std::size_t length = 0; length < 94; ++length)
    EXPECT_NE(
        error_text([&] { parse_megatron_index(megatron_index().substr(0, length), 12, "m.idx"); }),
        "(no error)")
        << length;
}

TEST(TokenShardErrors, OtherFiles) {
  const TempDir folder;
  const auto message = [&](const char* name, const std::string& content) {
    const std::string path = folder.write(name, content);
    const std::string text = error_text([&] { scan_shard(*TokenShard::open(path)); });
    return text.starts_with(path) ? text.substr(path.size()) : text;
  };
  EXPECT_EQ(message("w.bin", padded(raw<std::int32_t>({20'240'326, 3}))),
            ": weights of an llm.c model, not tokens; use `twill import`");
  EXPECT_EQ(message("e.bin", padded(raw<std::int32_t>({20'240'522, 1}))),
            ": an evaluation task of llm.c, not a stream of tokens");
  EXPECT_EQ(message("s.bin", padded(raw<std::int32_t>({20'240'527, 1}))),
            ": an optimizer state of llm.c, not tokens");
  EXPECT_EQ(message("t.bin", padded(raw<std::int32_t>({20'240'328, 1}))),
            ": a tokenizer of llm.c, not tokens");
  EXPECT_EQ(message("t.txt", "text"),
            ": not a file of tokens: expected a shard of llm.c, nanoGPT (.bin), Megatron (.bin and "
            ".idx) or llm.q");
  EXPECT_EQ(message("m.idx", megatron_index(3)),
            ": the index of a Megatron file; give its .bin file");
  EXPECT_EQ(message("m.bin", raw<std::int16_t>({5, 6, 7, 8, 9, -1})),
            ": a token id is negative or larger than 32767");
  EXPECT_EQ(error_text([&] { TokenShard::open(folder / "none.bin"); }),
            "cannot read " + (folder / "none.bin") + ": No such file or directory");
  EXPECT_EQ(error_text([&] { TokenShard::open(folder.path()); }),
            "cannot read " + folder.path() + ": not a file");
}

}  // namespace
}  // namespace twill
