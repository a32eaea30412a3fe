// SPDX-License-Identifier: Apache-2.0
#include "models/families.h"

#include <algorithm>
#include <vector>

#include "base/require.h"
#include "models/decoder.h"
#include "models/decoder_shape.h"

namespace twill {
namespace {

std::unique_ptr<Model> make_decoder(Builder& builder, const ModelConfig& config) {
  return std::make_unique<Decoder>(builder, config);
}

std::int64_t context_of(const ModelConfig& config) { return config.context; }

struct Families {
  std::vector<ModelFamily> known;
  std::vector<std::string_view> names;
};

// GPT-2 and LLaMA are one class with different configs.
Families& families() {
  static Families all = [] {
    Families built_in{
        .known =
            {
                {"gpt", "windows", make_decoder, resolved_decoder, decoder_parameters, context_of},
                {"llama", "windows", make_decoder, resolved_decoder, decoder_parameters,
                 context_of},
            },
        .names = {}};
    for (const ModelFamily& family : built_in.known) built_in.names.push_back(family.name);
    return built_in;
  }();
  return all;
}

}  // namespace

const ModelFamily& find_family(std::string_view name) {
  const auto& known = families().known;
  const auto found = std::ranges::find(known, name, &ModelFamily::name);
  require(found != known.end(), "model.family = \"{}\" is not known; expected one of {}", name,
          fmt::join(families().names, ", "));
  return *found;
}

Choices family_names() { return families().names; }

void add_family(const ModelFamily& family) {
  auto& [known, names] = families();
  const auto found = std::ranges::find(known, family.name, &ModelFamily::name);
  if (found != known.end()) {
    *found = family;
    return;
  }
  known.push_back(family);
  names.push_back(family.name);
}

std::unique_ptr<Model> make_model(Builder& builder, const ModelConfig& config) {
  return find_family(config.family).make(builder, config);
}

ModelConfig resolved(ModelConfig config, std::int64_t tokenizer_vocab) {
  const ModelFamily& family = find_family(config.family);
  return family.resolve(std::move(config), tokenizer_vocab);
}

std::int64_t num_parameters(const ModelConfig& config) {
  return find_family(config.family).num_parameters(config);
}

std::int64_t longest_sequence(const ModelConfig& config) {
  return find_family(config.family).longest_sequence(config);
}

}  // namespace twill
