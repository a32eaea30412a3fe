// SPDX-License-Identifier: Apache-2.0
// Texts that would overflow the stack of a parser, or take its memory, are refused before it sees them.
#include "io/config/toml_limits.h"

#include <gtest/gtest.h>

#include "io/config/toml_config.h"
#include "io/error_text.h"
#include "io/repeated.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

std::string refusal(const std::string& text) {
  try {
    TomlDocument::parse_text(text, "a.toml");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

std::string overlay_refusal(const std::string& pair) {
  TomlDocument document;
  return error_text([&] { document.overlay(pair); });
}

constexpr const char* kParts = "a.toml: line 2: a key of more than 16 parts";
constexpr const char* kDepth = "a.toml: line 2: lists and tables nested more than 16 deep";

TEST(TomlLimits, KeysOfManyParts) {
  const std::string parts = repeated("a.", 100'000) + "a";
  EXPECT_EQ(refusal("x = 1\n" + parts + " = 1"), kParts);
  EXPECT_EQ(refusal("x = 1\n[" + parts + "]"), kParts);
  EXPECT_EQ(refusal("x = 1\n[[" + parts + "]]"), kParts);
  EXPECT_EQ(refusal("x = 1\ny = {" + parts + " = 1}"), kParts);
  EXPECT_EQ(refusal("x = 1\n" + repeated("'a'.", 100'000) + "a = 1"), kParts);
  EXPECT_EQ(refusal("x = 1\n" + repeated("\"a\" . ", 20) + "a = 1"), kParts);
  EXPECT_NE(overlay_refusal(parts + "=1").find("a key of more than 16 parts"), std::string::npos);
  EXPECT_EQ(refusal("x = 1\n" + repeated("a.", 15) + "a = 1"), "");
}

TEST(TomlLimits, DeepNesting) {
  EXPECT_EQ(refusal("x = 1\ny = " + repeated("[", 200'000)), kDepth);
  EXPECT_EQ(refusal("x = 1\ny = " + repeated("{a = ", 200'000)), kDepth);
  EXPECT_NE(overlay_refusal("x=" + repeated("[", 200'000)).find("nested more than 16"),
            std::string::npos);
  EXPECT_EQ(refusal("y = " + repeated("[", 16) + repeated("]", 16)), "");
}

TEST(TomlLimits, SeesWhatIsTextAndWhatIsNot) {
  const std::string dots = repeated(".", 100) + repeated("[", 100);
  for (const std::string& text :
       {"a = \"" + dots + "\"", "a = '" + dots + "'", "# " + dots, "a = \"\"\"\n" + dots + "\"\"\"",
        "a = '''\n" + dots + "'''", "a = \"\\\"" + dots + "\"", "a = \"\"\"\"" + dots + "\"\"\"\"",
        std::string("a = ['x', 1.5, 2.5, 3.5]\nb = 1979-05-27T07:32:00.5Z")})
    EXPECT_EQ(refusal(text), "") << text;
  // Behind the end of a string everything counts again.
  const std::string brackets = repeated("[", 100);
  EXPECT_EQ(refusal("a = 1\nb = ['''''', \"\", \"\\\\\", " + brackets), kDepth);
  EXPECT_EQ(refusal("a = 1\nb = [\"\"\"x\"\"\"\"\", " + brackets), kDepth);
}

TEST(TomlLimits, Size) {
  const TempDir dir;
  const std::string big(kMaxTomlBytes + 1, '\n');
  EXPECT_EQ(refusal(big), "a.toml: 4194305 bytes are too many for TOML, expected at most 4194304");
  const std::string path = dir.write("b.toml", big);
  EXPECT_EQ(error_text([&] { TomlDocument::parse_file(path); }),
            "cannot read " + path + ": 4194305 bytes are too many, expected at most 4194304");
}

}  // namespace
}  // namespace twill
