// SPDX-License-Identifier: Apache-2.0
#include "data/text_source.h"

#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include <gtest/gtest.h>

#include "data/builtin_corpus.h"
#include "io/error_text.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

std::string load(std::vector<std::string> sources) { return load_text(sources, "data.train"); }
std::string load_error(std::vector<std::string> sources) {
  return error_text([&] { load(sources); });
}

TEST(LoadText, AFileIsTakenAsItIs) {
  const TempDir folder;
  const std::string bytes("a\0b\xff\r\n", 6);
  EXPECT_EQ(load({folder.write("a b.bin", bytes)}), bytes);
}

TEST(LoadText, FilesLargerThanOnePiece) {
  const TempDir folder;
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) bytes += std::to_string(i) + ' ';
  EXPECT_EQ(load({folder.write("a", bytes)}), bytes);
}

TEST(LoadText, AFolderIsReadInSortedOrderWithoutHiddenFiles) {
  const TempDir folder;
  folder.write("b.txt", "b\n");
  folder.write("a.txt", "a");
  folder.write("sub/c.txt", "c");
  folder.write("sub/.hidden", "x");
  folder.write(".git/d.txt", "x");
  folder.write("empty", "");
  folder.write("Z.txt", "Z");
  EXPECT_EQ(load({folder.path()}), "Z\na\nb\nc");
}

TEST(LoadText, AHiddenFolderMayBeNamed) {
  const TempDir folder;
  folder.write(".cache/a", "a");
  EXPECT_EQ(load({folder / ".cache"}), "a");
}

TEST(LoadText, Globs) {
  const TempDir folder;
  folder.write("a1.txt", "1");
  folder.write("a2.txt", "2");
  folder.write("b.md", "x");
  folder.write("d.txt/inside", "3");
  EXPECT_EQ(load({folder / "*.txt"}), "1\n2\n3");
  EXPECT_EQ(load({folder / "a[12].txt"}), "1\n2");
  folder.write("odd[1].txt", "literal");
  EXPECT_EQ(load({folder / "odd[1].txt"}), "literal");
}

TEST(LoadText, SourcesKeepTheirOrder) {
  const TempDir folder;
  const std::string a = folder.write("a", "a");
  const std::string b = folder.write("b", "b\n");
  EXPECT_EQ(load({b, a, b}), "b\na\nb\n");
}

TEST(LoadText, BuiltinNeedsNoFile) {
  EXPECT_EQ(load({"builtin"}), builtin_corpus());
  EXPECT_GT(builtin_corpus().size(), 100'000u);
  EXPECT_EQ(builtin_corpus(), content_of(TWILL_SOURCE_DIR "/assets/corpus.txt"));
}

TEST(LoadTextErrors, EachSaysWhatToDo) {
  const TempDir folder;
  const std::string none = folder / "none.txt";
  EXPECT_EQ(load_error({none}), "data.train: no such file or folder: " + none +
                                    "; give a text file, a folder or a glob");
  EXPECT_EQ(load_error({folder / "*.txt"}), "data.train: no file matches " + (folder / "*.txt"));
  EXPECT_EQ(load_error({folder.path()}),
            "data.train: the folder " + folder.path() + " has no files in it");
  const std::string empty = folder.write("empty", "");
  EXPECT_EQ(load_error({empty}),
            "data.train: " + empty + " is empty; give a text file, a folder or a glob");
  EXPECT_EQ(load_error({folder.path()}),
            "data.train: " + folder.path() + " is empty; give a text file, a folder or a glob");
  EXPECT_EQ(load_error({}),
            "data.train: no text given; give a text file, a folder, a glob or \"builtin\"");
  EXPECT_EQ(load_error({"/dev/zero"}), "data.train: /dev/zero is not a text file");
}

TEST(LoadTextErrors, UnreadableFilesAndFolders) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const TempDir folder;
  const std::string path = folder.write("secret/file", "x");
  ::chmod(path.c_str(), 0);
  EXPECT_EQ(load_error({path}), "data.train: cannot read " + path + ": Permission denied");
  ::chmod((folder / "secret").c_str(), 0);
  EXPECT_EQ(load_error({folder.path()}),
            "data.train: cannot read " + (folder / "secret") + ": Permission denied");
  ::chmod((folder / "secret").c_str(), 0700);
}

}  // namespace
}  // namespace twill
