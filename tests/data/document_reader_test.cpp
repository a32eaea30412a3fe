// SPDX-License-Identifier: Apache-2.0
#include "data/document_reader.h"

#include <gtest/gtest.h>

#include "io/error_text.h"
#include "io/packed/pack.h"

namespace twill {
namespace {

using Documents = std::vector<std::string>;

Documents documents_of(std::string bytes, const std::string& name = "a.txt",
                       DocumentOptions options = {}) {
  const auto source = byte_source_of(std::move(bytes), name);
  DocumentReader reader(*source, std::move(options));
  Documents all;
  for (std::string document; reader.next(document);) all.push_back(document);
  return all;
}

TEST(DocumentReader, SeparatorLinesEndDocuments) {
  EXPECT_EQ(documents_of("a\nb\n<|endoftext|>\nc"), (Documents{"a\nb\n", "c"}));
  EXPECT_EQ(documents_of("a\r\n<|endoftext|>\n<|endoftext|>\n\n<|endoftext|>"),
            (Documents{"a\r\n", "\n"}));
  EXPECT_EQ(documents_of("one text, no lines"), Documents{"one text, no lines"});
  EXPECT_EQ(documents_of(""), Documents{});
  EXPECT_EQ(documents_of("<|endoftext|>\n"), Documents{});
}

TEST(DocumentReader, OnlyAWholeLineSeparates) {
  const std::string text = "a <|endoftext|>\n<|endoftext|> b\n <|endoftext|>\n<|endoftext|>\r\n";
  EXPECT_EQ(documents_of(text), Documents{text});
}

TEST(DocumentReader, InMemoryTheRuleIsTheSame) {
  for (const std::string& text :
       {std::string("a\nb\n<|endoftext|>\nc"), std::string("<|endoftext|>\na<|endoftext|>\n"),
        std::string("a\n<|endoftext|>"), std::string("\n<|endoftext|>\n<|endoftext|>\n\n"),
        std::string(""), std::string("<|endoftext|>x\n<|endoftext|>\ny")}) {
    const std::vector<std::string_view> split = split_documents(text);
    EXPECT_EQ(Documents(split.begin(), split.end()), documents_of(text)) << text;
  }
}

TEST(DocumentReader, JsonLines) {
  const std::string lines =
      "{\"text\": \"a\\nb\"}\n\n{\"id\": 1, \"text\": \"\\u00e9\"}\r\n{\"text\":\"\"}";
  const Documents want{"a\nb", "\xc3\xa9"};
  EXPECT_EQ(documents_of(lines, "a.jsonl"), want);
  EXPECT_EQ(documents_of(gzip_of(lines), "a.jsonl.gz"), want);
  EXPECT_EQ(documents_of(lines, "standard input"), want) << "by its first line";
  EXPECT_EQ(documents_of("{\"body\": \"x\"}", "a.json", {.text_key = "body"}), Documents{"x"});
}

TEST(DocumentReader, ATextMayBeginWithABrace) {
  for (const char* text : {"{\n  code();\n}\n", "{\"key\": 1}\n", "{\"text\": 1}\n"})
    EXPECT_EQ(documents_of(text, "a.c"), Documents{text});
}

TEST(DocumentReaderErrors, NameFileAndLine) {
  const auto message = [](const char* lines) {
    return error_text([&] { documents_of(lines, "a.jsonl"); });
  };
  EXPECT_EQ(message("{\"text\":\"a\"}\n[1]\n"),
            "a.jsonl: line 2: expected a JSON object, got a list");
  EXPECT_EQ(message("{\"body\":\"a\"}\n"),
            "a.jsonl: line 1: the object has no key \"text\"; it has \"body\": name the one that "
            "holds the text by --text-key");
  EXPECT_EQ(message("{}\n"),
            "a.jsonl: line 1: the object has no key \"text\"; it is empty: name the one that "
            "holds the text by --text-key");
  EXPECT_EQ(
      message("{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,\"i\":1}\n"),
      "a.jsonl: line 1: the object has no key \"text\"; it has \"a\", \"b\", \"c\", \"d\", "
      "\"e\", \"f\", \"g\", \"h\" and 1 more: name the one that holds the text by --text-key");
  EXPECT_EQ(message("{\"text\":7}\n"),
            "a.jsonl: line 1: \"text\" is a number, expected text; name another key by --text-key");
  EXPECT_TRUE(
      message("{\"text\":\"a\"}\n{\"text\":\"b").starts_with("a.jsonl: line 2: not valid JSON"))
      << message("{\"text\":\"a\"}\n{\"text\":\"b");
}

TEST(DocumentReaderErrors, ADocumentHasABound) {
  EXPECT_EQ(error_text([] { documents_of("12345\n12345\n", "a", {.max_bytes = 10}); }),
            "a: the document that ends behind line 2 is larger than 10 bytes; separate documents "
            "by lines <|endoftext|>");
  EXPECT_EQ(
      error_text([] { documents_of("{\"text\":\"0123456789\"}", "a.jsonl", {.max_bytes = 9}); }),
      "a.jsonl: line 1 is longer than 9 bytes");
}

}  // namespace
}  // namespace twill
