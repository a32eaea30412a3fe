// SPDX-License-Identifier: Apache-2.0
#include "sparsity/recipe/scope.h"

#include <fnmatch.h>

#include <algorithm>

#include "base/require.h"

namespace twill {
namespace {

bool in_word(const LinearSeam& seam, const std::string& word) {
  if (word == "ffn") return seam.family == LayerFamily::kFfn;
  if (word == "attention") return seam.family == LayerFamily::kAttention;
  if (word == "all-linear") return seam.family != LayerFamily::kHead;
  if (word == "head") return seam.family == LayerFamily::kHead;
  return ::fnmatch(word.c_str(), seam.name.c_str(), 0) == 0;
}

}  // namespace

bool matches_any(const std::vector<std::string>& globs, const std::string& name) {
  return std::ranges::any_of(globs, [&](const std::string& glob) {
    return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
  });
}

bool names_head(const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [](const std::string& word) {
    return word == "head" || ::fnmatch(word.c_str(), "head", 0) == 0;
  });
}

bool is_in_scope(const LinearSeam& layer, const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [&](const std::string& word) { return in_word(layer, word); });
}

std::vector<LinearSeam*> layers_in_scope(Builder& builder, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    require(
        std::ranges::any_of(builder.linear_seams(),
                            [&](const LinearSeam& seam) { return in_word(seam, word); }),
        "recipe: layers = \"{}\" matches no layer; expected ffn, attention, all-linear, head, or a "
        "glob over names like {}",
        word, builder.linear_seams().back().name);
  std::vector<LinearSeam*> layers;
  for (LinearSeam& seam : builder.linear_seams())
    if (is_in_scope(seam, words)) layers.push_back(&seam);
  return layers;
}

}  // namespace twill
