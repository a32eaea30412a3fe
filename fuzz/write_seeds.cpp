// SPDX-License-Identifier: Apache-2.0
// Writes small good examples of every format, for the fuzzer to start from:
//
//   twill_fuzz_seeds FOLDER      makes FOLDER/<target>/<example>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "io/atomic_file.h"
#include "io/safetensors.h"
#include "io/toml_config.h"
#include "train/run_config.h"

namespace twill {
namespace {

class Seeds {
 public:
  explicit Seeds(std::string folder) : folder_(std::move(folder)) {}

  void add(const std::string& target, const std::string& name, std::string_view bytes) {
    write_file(path(target, name), bytes);
  }
  std::string path(const std::string& target, const std::string& name) {
    create_directories(folder_ + "/" + target);
    return folder_ + "/" + target + "/" + name;
  }

 private:
  std::string folder_;
};

void add_json(Seeds& seeds) {
  seeds.add("json_value", "kinds",
            R"({"a": [1, -2.5e3, true, null, "\u00e9\ud83d\ude00"], "b": {}})");
}

void add_safetensors(Seeds& seeds) {
  const std::vector<float> values(12, 0.5f);
  const std::vector<TensorEntry> tensors = {{"a", view_of(values.data(), Shape{3, 4})},
                                            {"b", view_of(values.data(), Shape{})}};
  write_safetensors(seeds.path("safetensors", "two"), tensors, {{"format", "pt"}});
}

void add_toml(Seeds& seeds) {
  RunConfig config;
  config.optimizer.group.resize(1);
  seeds.add("toml_config", "every_key", write_toml(config));
}

}  // namespace
}  // namespace twill

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: twill_fuzz_seeds FOLDER\n", stderr);
    return 2;
  }
  twill::Seeds seeds(argv[1]);
  twill::add_json(seeds);
  twill::add_safetensors(seeds);
  twill::add_toml(seeds);
  return 0;
}
