// SPDX-License-Identifier: Apache-2.0
// A line of an evaluation task.
#include "eval/task_line.h"

#include "target.h"

TWILL_FUZZ(bytes) {
  const twill::TaskLine line = twill::parse_task_line(bytes);
  const bool has_right_choice =
      line.label >= 0 && line.label < static_cast<std::int64_t>(line.choices.size());
  if (!has_right_choice && line.text.empty()) __builtin_trap();
}
