// SPDX-License-Identifier: Apache-2.0
// A folder that is held: opened once, and everything below it is found from there, whatever becomes
// of its name. What is written through it cannot land in another folder that took the name, and no
// symbolic link below it is followed.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace twill {

class Descriptor;

class Folder {
 public:
  // Links on the way are followed: where a folder lies is the user's choice. Empty with errno set
  // where it cannot be opened.
  static std::optional<Folder> try_open(const std::string& path);
  static Folder open(const std::string& path);  // throws twill::Error

  // A folder in this one, made where it is missing.
  Folder make(const std::string& name) const;

  // As it was opened, for messages.
  const std::string& path() const { return path_; }
  int descriptor() const;

  // Whether `path` leads to this very folder; false where nothing is left of it under that name.
  // Where that cannot be told (a server that does not answer): true.
  bool is_at(const std::string& path) const;

  // A file or folder of this name, links not followed.
  bool has(const std::string& name) const;
  std::vector<std::string> names() const;
  void rename(const std::string& from, const std::string& to) const;
  // With everything below it; what is not there or cannot be removed stays so.
  void remove(const std::string& name) const;
  // Returns when what was made, renamed and removed in it survives a crash.
  void sync() const;

 private:
  Folder(std::string path, int descriptor);

  std::string path_;
  std::shared_ptr<const Descriptor> descriptor_;
};

// A file that can be read for as long as this lives, also when its name is gone.
class HeldFile {
 public:
  HeldFile(const Folder& folder, const std::string& name);
  std::string read() const;  // from its beginning

 private:
  std::string path_;
  std::shared_ptr<const Descriptor> descriptor_;
};

// flock(2), or what a test puts in its place.
using LockCall = std::function<int(int descriptor, int operation)>;

// kUnknown: the file system of the folder has no locks that work, with errno saying so.
enum class LockResult { kTaken, kHeldByAnother, kUnknown };

// Locks the folder for as long as a copy of it lives. Throws twill::Error where it fails otherwise.
LockResult try_lock(const Folder& folder);
LockResult try_lock(const Folder& folder, const LockCall& lock);

}  // namespace twill
