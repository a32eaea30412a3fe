// SPDX-License-Identifier: Apache-2.0
// The logits of a model behind every prefix of a sequence of ids, for comparisons with other
// programs (tools/compare_transformers.py). Built with the tests as twill_dump_logits.
//
//   twill_dump_logits MODEL IDS OUT
//
// MODEL is a run, a Hugging Face folder or a model file; IDS is a file of ids separated by spaces;
// OUT becomes one row of f32 per id, vocabulary numbers each.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/require.h"
#include "models/model.h"
#include "train/model/any_model.h"
#include "twill/error.h"

namespace twill {
namespace {

std::vector<std::int32_t> read_ids(const char* path) {
  std::ifstream file(path);
  require(file.good(), "cannot read {}", path);
  std::vector<std::int32_t> ids;
  for (std::int32_t id = 0; file >> id;) ids.push_back(id);
  require(file.eof() && !ids.empty(), "{}: expected ids separated by spaces", path);
  return ids;
}

void dump(const char* where, const char* ids_file, const char* out_file) {
  const AnyModel any = find_model(where, "runs");
  const std::vector<std::int32_t> ids = read_ids(ids_file);
  const auto time = static_cast<std::int64_t>(ids.size());
  require(time <= any.source->config().context, "{} ids are longer than the model's context of {}",
          time, any.source->config().context);
  const Context context(cpu_table(), 1);
  Builder builder(context, {.training = false, .max_batch = 1, .max_time = time});
  const std::unique_ptr<Model> any_model = make_model(builder, any.source->config());
  LanguageModel& model = as_language_model(*any_model, where);
  builder.commit();
  any.source->load(builder);
  std::ofstream out(out_file, std::ios::binary);
  for (std::int64_t count = 1; count <= time; ++count) {
    const ConstView logits = model.next_token_logits(
        {.context = context, .time = count}, std::span(ids).first(static_cast<std::size_t>(count)));
    out.write(reinterpret_cast<const char*>(logits.bytes()), logits.num_bytes());
  }
  out.close();
  require(out.good(), "cannot write {}", out_file);
}

}  // namespace
}  // namespace twill

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "twill_dump_logits MODEL IDS OUT\n");
    return 2;
  }
  try {
    twill::dump(argv[1], argv[2], argv[3]);
    return 0;
  } catch (const twill::Error& error) {
    fmt::print(stderr, "twill_dump_logits: {}\n", error.what());
    return 2;
  }
}
