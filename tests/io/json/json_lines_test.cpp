// SPDX-License-Identifier: Apache-2.0
#include "io/json/json_lines.h"

#include <gtest/gtest.h>

#include "io/error_text.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

TEST(JsonLinesFile, AppendsAcrossOpenings) {
  const TempDir folder;
  for (int step = 0; step < 2; ++step) {
    JsonLinesFile file(folder / "m.jsonl");
    file.append(JsonObject{{"step", step}});
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
      error_text([] { JsonLinesFile("/dev/full").append(JsonObject()); }),
      "cannot write /dev/full: No space left on device; free some space or choose another disk "
      "(run.dir or --out)");
}

}  // namespace
}  // namespace twill
