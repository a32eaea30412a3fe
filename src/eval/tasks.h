// SPDX-License-Identifier: Apache-2.0
// The tasks, by likelihood: what the model reads, and what it is asked about. docs/evaluation.md
// compares each with lm-evaluation-harness.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eval/task_line.h"

namespace twill {

enum class TaskKind {
  kChoices,   // context: before + query + after; continuations: " " + choice
  kBlank,     // contexts: the query up to its '_', and a choice; continuation: " " + what follows
  kLastWord,  // context: the text up to its last space; continuation: that space and the rest
};

struct Task {
  std::string name;
  TaskKind kind = TaskKind::kChoices;
  std::string stem = {};  // its file in a folder is <stem>*.jsonl, plain or .xz, .gz, .zst
  std::string before = {};
  std::string after = {};
  bool normalised = true;  // also reports acc_norm
};

// The tasks known by name, in the order of a table.
std::span<const Task> known_tasks();
// Throws twill::Error with the nearest name.
const Task& task_named(std::string_view name);

// The file of a task in a folder. Throws when several match; empty when none does.
std::optional<std::string> find_task_file(const Task& task, const std::string& folder);
// The same, but a missing file is an error that says what was looked for.
std::string require_task_file(const Task& task, const std::string& folder);

// A file of the same layout as a task of its own: choices behind the query as it is, or last words,
// as the first line has it.
Task task_of_file(const std::string& path);

// One question: pairs of context and continuation, and which one is right.
struct TaskExample {
  std::int64_t line = 0;
  std::vector<std::pair<std::string, std::string>> pairs = {};
  std::vector<std::int64_t> bytes = {};  // of each choice as the file has it, without the space
  std::int64_t label = 0;
};

// Throws without file and line when the line does not suit the task.
TaskExample make_example(const Task& task, const TaskLine& line);

// At most `limit` examples (0: all) of a file, which may be packed. Empty lines are passed over.
// Errors begin with the path and name the line.
std::vector<TaskExample> read_examples(const Task& task, const std::string& path,
                                       std::int64_t limit);

}  // namespace twill
