// SPDX-License-Identifier: Apache-2.0
// What a checkpoint holds of sparsity: tensors by name, written and read in place, and texts by key.
// Each part of the engine adds its own and reads it back.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tensor/view.h"

namespace twill {

struct StateTensor {
  std::string name;
  View view;
};

using StateTexts = std::map<std::string, std::string>;

// Numbers to the bit, parted by spaces.
std::string text_of(const std::vector<double>& values);

// Throw where the key is missing, its text is no list of numbers, or there are not `count` of them.
const std::string& text_at(const StateTexts& texts, const std::string& key);
std::vector<double> numbers_at(const StateTexts& texts, const std::string& key);
std::vector<double> numbers_at(const StateTexts& texts, const std::string& key, std::size_t count);

}  // namespace twill
