// SPDX-License-Identifier: Apache-2.0
#include "eval/tasks.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/fields.h"
#include "base/require.h"
#include "eval/white_space.h"
#include "io/packed/byte_source.h"

namespace twill {
namespace {

constexpr std::string_view kEndings[] = {".jsonl", ".jsonl.xz", ".jsonl.gz", ".jsonl.zst"};

const Task kTasks[] = {
    {.name = "hellaswag", .stem = "hellaswag"},
    {.name = "lambada", .kind = TaskKind::kLastWord, .stem = "lambada"},
    {.name = "piqa", .stem = "piqa", .before = "Question: ", .after = "\nAnswer:"},
    {.name = "arc_easy", .stem = "arc_easy", .before = "Question: ", .after = "\nAnswer:"},
    {.name = "arc_challenge",
     .stem = "arc_challenge",
     .before = "Question: ",
     .after = "\nAnswer:"},
    {.name = "winogrande", .kind = TaskKind::kBlank, .stem = "winogrande", .normalised = false},
    {.name = "openbookqa", .stem = "openbookqa"},
    {.name = "siqa", .stem = "siqa", .before = "Q: ", .after = "\nA:"},
};

std::string looked_for(const Task& task) {
  return task.stem + "*.jsonl, also .xz, .gz or .zst behind it";
}

// visit(line, number) for every line, until it returns false. What it throws gets file and line.
template <class Visit>
void for_each_line(const std::string& path, const Visit& visit) {
  const std::unique_ptr<ByteSource> source = open_byte_source(path);
  LineReader reader(*source);
  for (auto line = reader.next(); line.has_value(); line = reader.next()) {
    if (stripped(*line).empty()) continue;
    try {
      if (!visit(parse_task_line(*line), reader.line_number())) return;
    } catch (const Error& error) {
      fail("{}: line {}: {}", path, reader.line_number(), error.what());
    }
  }
}

TaskExample choices_example(const Task& task, const TaskLine& line) {
  TaskExample example{.label = line.label};
  for (const std::string& choice : line.choices)
    example.pairs.emplace_back(task.before + line.query + task.after, " " + choice);
  return example;
}

TaskExample blank_example(const TaskLine& line) {
  const std::size_t blank = line.query.find('_');
  require(blank != std::string::npos, "'query' has no '_' that marks the blank");
  const std::string_view rest = stripped(std::string_view(line.query).substr(blank + 1));
  require(!rest.empty(), "nothing follows the '_' of 'query'");
  TaskExample example{.label = line.label};
  for (const std::string& choice : line.choices)
    example.pairs.emplace_back(line.query.substr(0, blank) + choice, " " + std::string(rest));
  return example;
}

TaskExample last_word_example(const TaskLine& line) {
  const std::size_t space = line.text.rfind(' ');
  require(space != std::string::npos && space + 1 < line.text.size(),
          "'text' must end with a space and the word to guess");
  TaskExample example;
  example.pairs.emplace_back(line.text.substr(0, space), line.text.substr(space));
  return example;
}

}  // namespace

std::span<const Task> known_tasks() { return kTasks; }

const Task& task_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Task& task : kTasks) {
    if (task.name == name) return task;
    names.push_back(task.name);
  }
  fail("unknown task '{}'; did you mean '{}'? A file must end in .jsonl, plain or packed", name,
       nearest(name, names));
}

std::optional<std::string> find_task_file(const Task& task, const std::string& folder) {
  std::error_code error;
  const bool is_folder = std::filesystem::is_directory(folder, error);
  require(is_folder, "{} is not a folder{}{}", folder, error ? ": " : "",
          error ? error.message() : "");
  std::vector<std::string> found;
  const std::filesystem::directory_iterator entries(folder, error);
  require(!error, "cannot read {}: {}", folder, error.message());
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename();
    const auto ends = [&](std::string_view ending) { return name.ends_with(ending); };
    if (name.starts_with(task.stem) && std::ranges::any_of(kEndings, ends))
      found.push_back(entry.path());
  }
  std::ranges::sort(found);
  if (found.empty()) return std::nullopt;
  require(found.size() == 1, "{}: both {} and {} could be the file of {}; keep one of them", folder,
          found.front(), found.back(), task.name);
  return found.front();
}

std::string require_task_file(const Task& task, const std::string& folder) {
  const std::optional<std::string> path = find_task_file(task, folder);
  require(path.has_value(), "{}: no file for {}, looked for {}", folder, task.name,
          looked_for(task));
  return *path;
}

Task task_of_file(const std::string& path) {
  Task task{.name = path};
  for_each_line(path, [&](const TaskLine& line, std::int64_t) {
    if (!line.text.empty()) task.kind = TaskKind::kLastWord;
    return false;
  });
  return task;
}

TaskExample make_example(const Task& task, const TaskLine& line) {
  const bool wants_text = task.kind == TaskKind::kLastWord;
  require(wants_text == !line.text.empty(), "expected {}",
          wants_text ? "'text', whose last word is guessed" : "'query', 'choices' and 'label'");
  TaskExample example = wants_text                      ? last_word_example(line)
                        : task.kind == TaskKind::kBlank ? blank_example(line)
                                                        : choices_example(task, line);
  for (const std::string& choice : line.choices)
    example.bytes.push_back(static_cast<std::int64_t>(choice.size()));
  return example;
}

std::vector<TaskExample> read_examples(const Task& task, const std::string& path,
                                       std::int64_t limit) {
  std::vector<TaskExample> examples;
  for_each_line(path, [&](const TaskLine& line, std::int64_t number) {
    examples.push_back(make_example(task, line));
    examples.back().line = number;
    return limit == 0 || static_cast<std::int64_t>(examples.size()) < limit;
  });
  require(!examples.empty(), "{}: no examples", path);
  return examples;
}

}  // namespace twill
