// SPDX-License-Identifier: Apache-2.0
#include "io/folder.h"

#include <cerrno>
#include <filesystem>

#include <gtest/gtest.h>

#include "io/atomic_file.h"
#include "io/error_text.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

TEST(Folder, IsFoundUnderAnotherNameAndKnowsThatItWasLeft) {
  const TempDir dir;
  fs::create_directory(dir / "a");
  const Folder folder = Folder::open(dir / "a");
  EXPECT_TRUE(folder.is_at(dir / "a"));
  fs::rename(dir / "a", dir / "b");
  EXPECT_FALSE(folder.is_at(dir / "a"));
  EXPECT_TRUE(folder.is_at(dir / "b"));
  fs::create_directory(dir / "a");
  EXPECT_FALSE(folder.is_at(dir / "a")) << "another one";
  write_file(folder, "file", "x");
  EXPECT_EQ(content_of(dir / "b/file"), "x");
  EXPECT_FALSE(fs::exists(dir / "a/file"));
  fs::remove_all(dir / "b");
  EXPECT_EQ(
      error_text([&] { write_file(folder, "file", "x"); }),
      "cannot write " + (dir / "a/file") + ": No such file or directory; create the folder first");
}

TEST(Folder, RemovesWithoutFollowingLinks) {
  const TempDir dir;
  dir.write("kept/file", "x");
  dir.write("a/sub/file", "x");
  fs::create_directory_symlink(dir / "kept", dir / "a/sub/link");
  const Folder folder = Folder::open(dir.path());
  EXPECT_TRUE(folder.has("a"));
  folder.remove("a");
  folder.remove("none");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"kept"});
  EXPECT_EQ(content_of(dir / "kept/file"), "x");
}

TEST(Folder, MakesFoldersButFollowsNoLinkToOne) {
  const TempDir dir;
  const Folder folder = Folder::open(dir.path());
  write_file(folder.make("a"), "file", "1");
  write_file(folder.make("a"), "file", "2");
  EXPECT_EQ(content_of(dir / "a/file"), "2");
  fs::create_directory_symlink(dir / "a", dir / "link");
  EXPECT_NE(error_text([&] {
              (void)folder.make("link");
            }).find("links in a run's folder are not followed"),
            std::string::npos);
  EXPECT_NE(error_text([&] { (void)Folder::open(dir / "none"); }).find("cannot open "),
            std::string::npos);
}

TEST(Folder, PublishesWhatIsBelowIt) {
  const TempDir dir;
  const Folder folder = Folder::open(dir.path());
  for (const char* content : {"1", "2"}) {
    write_file(folder.make("new.tmp"), "file", content);
    publish_directory(folder, "new.tmp", "final");
    EXPECT_EQ(content_of(dir / "final/file"), content);
    EXPECT_EQ(dir.num_entries(), 1u);
  }
}

TEST(AtomicFileLinks, AreNotFollowed) {
  const TempDir dir;
  const std::string precious = dir.write("precious", "do not touch");
  const std::string path = dir.write("a", "old");
  fs::create_symlink(precious, dir / "a.tmp");
  write_file(path, "new");
  EXPECT_EQ(content_of(precious), "do not touch");
  EXPECT_EQ(content_of(path), "new");
  EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path)));
  fs::create_symlink(precious, dir / "b");
  EXPECT_NE(error_text([&] { (void)read_file(Folder::open(dir.path()), "b"); }), "(no error)");
}

// Another process under the same name: what it writes is not taken for ours.
TEST(AtomicFileLinks, ATemporaryThatWasReplacedIsNotPublished) {
  const TempDir dir;
  const std::string path = dir.write("a", "old");
  {
    AtomicFile file(path);
    file.write("mine", 4);
    fs::remove(dir / "a.tmp");
    dir.write("a.tmp", "half of somebody else's");
    EXPECT_NE(error_text([&] { file.commit(); }).find("another process removed or replaced a.tmp"),
              std::string::npos);
  }
  EXPECT_EQ(content_of(path), "old");
  EXPECT_TRUE(fs::exists(dir / "a.tmp")) << "it is not ours to remove";
}

TEST(FolderLock, TellsWhatFlockSays) {
  const TempDir dir;
  const Folder first = Folder::open(dir.path()), second = Folder::open(dir.path());
  EXPECT_EQ(try_lock(first), LockResult::kTaken);
  EXPECT_EQ(try_lock(second), LockResult::kHeldByAnother);
  for (const int error : {ENOLCK, EOPNOTSUPP, ENOSYS})
    EXPECT_EQ(try_lock(first,
                       [&](int, int) {
                         errno = error;
                         return -1;
                       }),
              LockResult::kUnknown);
  int calls = 0;
  EXPECT_EQ(try_lock(first,
                     [&](int, int) {
                       errno = EINTR;
                       return ++calls < 3 ? -1 : 0;
                     }),
            LockResult::kTaken)
      << "a signal is no failure";
  EXPECT_EQ(error_text([&] {
              (void)try_lock(first, [](int, int) {
                errno = EIO;
                return -1;
              });
            }),
            "cannot lock " + dir.path() + ": Input/output error");
}

}  // namespace
}  // namespace twill
