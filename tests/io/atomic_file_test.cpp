// SPDX-License-Identifier: Apache-2.0
#include "io/atomic_file.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>

#include "io/descriptor.h"
#include "io/error_text.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

// Files of this process cannot grow beyond `bytes`: a full disk that needs no rights.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    (void)std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit old_{};
  void (*handler_)(int);
};

// A small file system of its own, where that is allowed.
class TinyDisk {
 public:
  explicit TinyDisk(unsigned long flags) {
    mounted_ = ::mount("none", folder_.path().c_str(), "tmpfs", flags, "size=64k") == 0;
  }
  ~TinyDisk() {
    if (mounted_) ::umount(folder_.path().c_str());
  }
  TinyDisk(const TinyDisk&) = delete;
  TinyDisk& operator=(const TinyDisk&) = delete;

  bool mounted() const { return mounted_; }
  const TempDir& folder() const { return folder_; }

 private:
  TempDir folder_;
  bool mounted_;
};

TEST(AtomicFile, WritesAndReplaces) {
  const TempDir folder;
  const std::string path = folder / "a.txt";
  write_file(path, "one");
  EXPECT_EQ(read_file(path), "one");
  write_file(path, std::string_view("t\0wo", 4));
  EXPECT_EQ(read_file(path), std::string("t\0wo", 4));
  write_file(path, "");
  EXPECT_EQ(read_file(path), "");
  EXPECT_EQ(folder.num_entries(), 1u);
}

TEST(AtomicFile, PatchesWhatWasWritten) {
  const TempDir folder;
  AtomicFile file(folder / "a");
  file.write("hello world", 11);
  file.patch(6, "W", 1);
  file.write("!", 1);
  file.commit();
  EXPECT_EQ(content_of(folder / "a"), "hello World!");
}

TEST(AtomicFile, WithoutCommitTheOldFileStays) {
  const TempDir folder;
  folder.write("a", "old");
  {
    AtomicFile file(folder / "a");
    file.write("new", 3);
    EXPECT_EQ(content_of(folder / "a"), "old");
  }
  EXPECT_EQ(content_of(folder / "a"), "old");
  EXPECT_EQ(folder.num_entries(), 1u);
}

TEST(AtomicFile, OverwritesLeftoversOfAKilledProcess) {
  const TempDir folder;
  folder.write("a.tmp", "a long torn content");
  write_file(folder / "a", "new");
  EXPECT_EQ(content_of(folder / "a"), "new");
  EXPECT_EQ(folder.num_entries(), 1u);
}

TEST(AtomicFileErrors, AFileThatCannotGrow) {
  const TempDir folder;
  const std::string path = folder.write("a", "old");
  const std::string big(100'000, 'x');
  std::string message;
  {
    const FileSizeLimit limit(5'000);
    message = error_text([&] { write_file(path, big); });
  }
  EXPECT_EQ(message, "cannot write " + path +
                         ": File too large; raise the limit on the size of files (ulimit -f), or "
                         "choose a disk that "
                         "takes such files (run.dir or --out)");
  EXPECT_EQ(content_of(path), "old");
  EXPECT_EQ(folder.num_entries(), 1u);
}

TEST(AtomicFileErrors, AFullDevice) {
  const Descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  if (!full.valid()) GTEST_SKIP() << "no /dev/full here";
  EXPECT_EQ(error_text([&] { write_all(full.get(), "x", 1, "runs/x/config.toml"); }),
            "cannot write runs/x/config.toml: No space left on device; free some space or choose "
            "another disk "
            "(run.dir or --out)");
}

TEST(AtomicFileErrors, AFullDisk) {
  const TinyDisk disk(0);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs is not allowed here";
  const std::string path = disk.folder().write("a", "old");
  EXPECT_EQ(
      error_text([&] { write_file(path, std::string(std::size_t{1} << 20, 'x')); }),
      "cannot write " + path +
          ": No space left on device; free some space or choose another disk (run.dir or --out)");
  EXPECT_EQ(content_of(path), "old");
  EXPECT_EQ(disk.folder().num_entries(), 1u);
}

TEST(AtomicFileErrors, AReadOnlyDisk) {
  const TinyDisk disk(MS_RDONLY);
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs is not allowed here";
  const std::string path = disk.folder() / "runs";
  EXPECT_EQ(error_text([&] { create_directories(path); }),
            "cannot create " + path +
                ": Read-only file system; choose a folder you can write to (run.dir or --out)");
}

TEST(AtomicFileErrors, MissingFolderAndMissingFile) {
  const TempDir folder;
  const std::string path = folder / "none/a";
  EXPECT_EQ(error_text([&] { write_file(path, "x"); }),
            "cannot write " + path + ": No such file or directory; create the folder first");
  EXPECT_EQ(error_text([&] { read_file(path); }),
            "cannot read " + path + ": No such file or directory");
  EXPECT_EQ(error_text([&] { read_file(folder.path()); }),
            "cannot read " + folder.path() + ": not a file");
}

TEST(AtomicFileErrors, ReadOnlyPlaces) {
  EXPECT_EQ(error_text([] { fail_to_write("create", "runs", EROFS); }),
            "cannot create runs: Read-only file system; choose a folder you can write to (run.dir "
            "or --out)");
  EXPECT_EQ(error_text([] { fail_to_write("write", "runs/a", EACCES); }),
            "cannot write runs/a: Permission denied; choose a folder you can write to (run.dir or "
            "--out)");
  EXPECT_EQ(error_text([] { fail_to_write("write", "runs/a", EIO); }),
            "cannot write runs/a: Input/output error");
}

TEST(AtomicFileErrors, AReadOnlyFolder) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write to read-only folders";
  const TempDir folder;
  ASSERT_EQ(::chmod(folder.path().c_str(), 0555), 0);
  EXPECT_EQ(error_text([&] { create_directories(folder / "runs"); }),
            "cannot create " + (folder / "runs") +
                ": Permission denied; choose a folder you can write to (run.dir or --out)");
  EXPECT_EQ(error_text([&] { write_file(folder / "a", "x"); }),
            "cannot write " + (folder / "a") +
                ": Permission denied; choose a folder you can write to (run.dir or --out)");
  ::chmod(folder.path().c_str(), 0755);
}

TEST(CreateDirectories, MakesParentsAndAcceptsExistingFolders) {
  const TempDir folder;
  create_directories(folder / "a/b/c");
  create_directories(folder / "a/b/c");
  EXPECT_TRUE(fs::is_directory(folder / "a/b/c"));
  folder.write("file", "");
  EXPECT_EQ(error_text([&] { create_directories(folder / "file/x"); }),
            "cannot create " + (folder / "file/x") + ": Not a directory");
}

TEST(PublishDirectory, AppearsUnderItsFinalName) {
  const TempDir folder;
  folder.write("new.tmp/a", "1");
  folder.write("new.tmp/sub/b", "2");
  publish_directory(folder / "new.tmp", folder / "final");
  EXPECT_EQ(content_of(folder / "final/a"), "1");
  EXPECT_EQ(content_of(folder / "final/sub/b"), "2");
  EXPECT_EQ(folder.num_entries(), 1u);
}

TEST(PublishDirectory, ReplacesAnExistingFolder) {
  const TempDir folder;
  folder.write("final/old", "0");
  folder.write("new.tmp/a", "1");
  publish_directory(folder / "new.tmp", folder / "final");
  EXPECT_EQ(content_of(folder / "final/a"), "1");
  EXPECT_FALSE(fs::exists(folder / "final/old"));
  EXPECT_EQ(folder.num_entries(), 1u);
}

TEST(PublishDirectory, RemovesTheTemporaryOnErrors) {
  const TempDir folder;
  folder.write("new.tmp/a", "1");
  const std::string target = folder / "none/final";
  EXPECT_EQ(error_text([&] { publish_directory(folder / "new.tmp", target); }),
            "cannot write " + target + ": No such file or directory; create the folder first");
  EXPECT_EQ(folder.num_entries(), 0u);
}

}  // namespace
}  // namespace twill
