// SPDX-License-Identifier: Apache-2.0
#include "io/json_lines.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "io/error_text.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

TEST(JsonLine, KeepsOrderAndTypes) {
  JsonLine line;
  line.add("step", 12).add("tokens", std::int64_t{1} << 40).add("loss", 0.1).add("done", true);
  line.add("name", "a \"b\"\n\x01").add("whole", 2.0).add("small", 1e-7f);
  EXPECT_EQ(line.text(), R"({"step":12,"tokens":1099511627776,"loss":0.1,"done":true,)"
                         R"("name":"a \"b\"\n\u0001","whole":2.0,"small":1.0000000116860974e-07})");
  EXPECT_EQ(JsonLine().text(), "{}");
}

TEST(JsonLine, WhatJsonCannotSayIsNull) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(JsonLine().add("a", std::nan("")).add("b", inf).add("c", -inf).text(),
            R"({"a":null,"b":null,"c":null})");
}

TEST(JsonLine, BytesThatAreNotTextAreReplaced) {
  EXPECT_EQ(JsonLine().add("a", "x\xff").text(), "{\"a\":\"x\xef\xbf\xbd\"}");
}

TEST(JsonLinesFile, AppendsAcrossOpenings) {
  const TempDir folder;
  for (int step = 0; step < 2; ++step) {
    JsonLinesFile file(folder / "m.jsonl");
    file.append(JsonLine().add("step", step));
    file.flush_to_disk();
  }
  EXPECT_EQ(content_of(folder / "m.jsonl"), "{\"step\":0}\n{\"step\":1}\n");
}

TEST(JsonLinesFile, CutsBackToAStep) {
  const TempDir folder;
  const std::string path = folder.write("m.jsonl",
                                        "{\"step\":0,\"val_loss\":5}\n{\"step\":1,\"loss\":4}\n"
                                        "{\"step\":2,\"loss\":3}\n{\"step\":2,\"val_loss\":3}\n"
                                        "{\"step\":3,\"loss\":2}\n{\"step\":4,\"lo");
  JsonLinesFile::cut_after_step(path, 2);
  EXPECT_EQ(content_of(path),
            "{\"step\":0,\"val_loss\":5}\n{\"step\":1,\"loss\":4}\n{\"step\":2,\"loss\":3}\n"
            "{\"step\":2,\"val_loss\":3}\n");
  JsonLinesFile::cut_after_step(path, -1);
  EXPECT_EQ(content_of(path), "");
}

TEST(JsonLinesFile, DropsATornLineEvenOfAnEarlyStep) {
  const TempDir folder;
  const std::string path = folder.write("m.jsonl", "{\"step\":1}\n{\"step\":2}");
  JsonLinesFile::cut_after_step(path, 9);
  EXPECT_EQ(content_of(path), "{\"step\":1}\n");
}

TEST(JsonLinesFile, DropsLinesWithoutAStep) {
  const TempDir folder;
  const std::string path = folder.write(
      "m.jsonl", "rubbish\n[1]\n\n{\"step\":\"1\"}\n{\"other\":{\"step\":1}}\n{\"step\":1}\n");
  JsonLinesFile::cut_after_step(path, 9);
  EXPECT_EQ(content_of(path), "{\"step\":1}\n");
}

TEST(JsonLinesFile, AMissingFileStaysMissing) {
  const TempDir folder;
  JsonLinesFile::cut_after_step(folder / "none", 1);
  EXPECT_EQ(folder.num_entries(), 0u);
}

TEST(JsonLinesFile, NamesTheFileThatCannotBeWritten) {
  const TempDir folder;
  const std::string path = folder / "none/m.jsonl";
  EXPECT_EQ(error_text([&] { JsonLinesFile file(path); }),
            "cannot write " + path + ": No such file or directory; create the folder first");
  EXPECT_EQ(
      error_text([] { JsonLinesFile("/dev/full").append(JsonLine()); }),
      "cannot write /dev/full: No space left on device; free some space or choose another disk "
      "(run.dir or --out)");
}

}  // namespace
}  // namespace twill
