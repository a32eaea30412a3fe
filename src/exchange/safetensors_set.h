// SPDX-License-Identifier: Apache-2.0
// The tensors of one .safetensors file, or of several with an index.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/tensors/safetensors.h"

namespace twill {

// model.safetensors.index.json: tensor name and file name, in the order of the document. Throws
// twill::Error, without a path; a file name that leaves the folder is refused.
std::vector<std::pair<std::string, std::string>> parse_safetensors_index(std::string_view json);

class SafetensorsSet {
 public:
  static SafetensorsSet open_file(const std::string& path);
  // Every tensor of the index must be in the file that it names, and no other tensor.
  static SafetensorsSet open_index(const std::string& path);

  const std::string& path() const { return path_; }
  struct Member {
    const SafetensorsFile* file;
    const TensorInfo* info;
  };
  const std::map<std::string, Member, std::less<>>& members() const { return members_; }
  const std::vector<std::unique_ptr<SafetensorsFile>>& files() const { return files_; }

 private:
  explicit SafetensorsSet(std::string path);
  void add_file(const std::string& path);

  std::string path_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, Member, std::less<>> members_;
};

}  // namespace twill
