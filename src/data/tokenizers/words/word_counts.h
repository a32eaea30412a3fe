// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/thread_pool.h"

namespace twill {

struct WordCount {
  std::string word;  // bytes
  std::int64_t count;
};

// How often each word of GPT-2's pattern comes in the text, ordered by bytes: the same for any number
// of threads. "<|endoftext|>" written out in the text divides it and is not counted.
std::vector<WordCount> count_words(std::string_view text, ThreadPool& pool);

}  // namespace twill
