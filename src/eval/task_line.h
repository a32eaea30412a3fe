// SPDX-License-Identifier: Apache-2.0
// One line of a task's file, as JSON: {"query": "…", "choices": ["…", "…"], "label": 0}, or
// {"text": "…"} whose last word is to be guessed. Other keys are passed over.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace twill {

struct TaskLine {
  std::string query;
  std::vector<std::string> choices;  // at least two, or none when there is a text
  std::int64_t label = 0;            // index of the right choice
  std::string text;
};

// Throws twill::Error, without file and line.
TaskLine parse_task_line(std::string_view line);

}  // namespace twill
