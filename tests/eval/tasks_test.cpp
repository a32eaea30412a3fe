// SPDX-License-Identifier: Apache-2.0
#include "eval/tasks.h"

#include <gtest/gtest.h>

#include "io/atomic_file.h"
#include "io/packed/pack.h"
#include "io/temp_dir.h"
#include "support/expect_error.h"

namespace twill {
namespace {

TaskExample example_of(std::string_view task, std::string_view line) {
  return make_example(task_named(task), parse_task_line(line));
}

TEST(TaskLine, HoldsChoicesOrText) {
  const TaskLine line =
      parse_task_line(R"({"query": "Q", "choices": ["a", "é"], "label": 1, "more": [1]})");
  EXPECT_EQ(line.query, "Q");
  EXPECT_EQ(line.choices, (std::vector<std::string>{"a", "é"}));
  EXPECT_EQ(line.label, 1);
  EXPECT_EQ(parse_task_line(R"({"text": "a b"})").text, "a b");
}

TEST(TaskLine, RefusesBadLines) {
  const auto refused = [](std::string_view line, std::string_view part) {
    expect_error([&] { parse_task_line(line); }, part);
  };
  refused("{", "not valid JSON");
  refused("[1]", "expected an object, got a list");
  refused(R"({"choices": ["a", "b"], "label": 0})", "key 'query' is missing");
  refused(R"({"query": "q", "label": 0})", "key 'choices' is missing");
  refused(R"({"query": "q", "choices": ["a", "b"]})", "key 'label' is missing");
  refused(R"({"query": 3, "choices": ["a", "b"], "label": 0})",
          "'query' must be text, got a number");
  refused(R"({"query": "", "choices": ["a", "b"], "label": 0})", "'query' is empty");
  refused(R"({"query": "q", "choices": "ab", "label": 0})", "'choices' must be a list, got text");
  refused(R"({"query": "q", "choices": ["a"], "label": 0})", "'choices' has 1 entries");
  refused(R"({"query": "q", "choices": [], "label": 0})", "'choices' has 0 entries");
  refused(R"({"query": "q", "choices": ["a", null], "label": 0})",
          "'choices[1]' must be text, got null");
  refused(R"({"query": "q", "choices": ["a", ""], "label": 0})", "'choices[1]' is empty");
  refused(R"({"query": "q", "choices": ["a", "b"], "label": 2})", "'label' = 2, expected 0 to 1");
  refused(R"({"query": "q", "choices": ["a", "b"], "label": -1})", "'label' = -1");
  refused(R"({"query": "q", "choices": ["a", "b"], "label": 0.5})",
          "'label' must be a whole number, got a number");
  refused(R"({"text": ["a"]})", "'text' must be text, got a list");
}

TEST(Tasks, FormatAsTheHarnessDoes) {
  constexpr std::string_view kLine = R"({"query": "Why?", "choices": ["so", "dé "], "label": 0})";
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(example_of("hellaswag", kLine).pairs[0], (Pair{"Why?", " so"}));
  EXPECT_EQ(example_of("hellaswag", kLine).bytes, (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(example_of("openbookqa", kLine).pairs[1], (Pair{"Why?", " dé "}));
  EXPECT_EQ(example_of("piqa", kLine).pairs[0], (Pair{"Question: Why?\nAnswer:", " so"}));
  EXPECT_EQ(example_of("arc_easy", kLine).pairs[0], (Pair{"Question: Why?\nAnswer:", " so"}));
  EXPECT_EQ(example_of("arc_challenge", kLine).pairs[0].first, "Question: Why?\nAnswer:");
  EXPECT_EQ(example_of("siqa", kLine).pairs[0], (Pair{"Q: Why?\nA:", " so"}));
  const TaskExample blank = example_of(
      "winogrande", R"({"query": "He saw _ there. ", "choices": ["Al", "Bo"], "label": 1})");
  EXPECT_EQ(blank.pairs[0], (Pair{"He saw Al", " there."}));
  EXPECT_EQ(blank.pairs[1], (Pair{"He saw Bo", " there."}));
  EXPECT_EQ(blank.label, 1);
  EXPECT_EQ(example_of("lambada", R"({"text": "a b\nc d"})").pairs[0], (Pair{"a b\nc", " d"}));
}

TEST(Tasks, RefuseLinesOfAnotherKind) {
  constexpr std::string_view kChoices = R"({"query": "q", "choices": ["a", "b"], "label": 0})";
  const auto refused = [](std::string_view task, std::string_view line, std::string_view part) {
    expect_error([&] { example_of(task, line); }, part);
  };
  refused("lambada", kChoices, "expected 'text', whose last word is guessed");
  refused("piqa", R"({"text": "a b"})", "expected 'query', 'choices' and 'label'");
  refused("winogrande", kChoices, "'query' has no '_' that marks the blank");
  refused("winogrande", R"({"query": "q _ ", "choices": ["a", "b"], "label": 0})",
          "nothing follows the '_'");
  refused("lambada", R"({"text": "word"})", "'text' must end with a space and the word to guess");
  refused("lambada", R"({"text": "word "})", "'text' must end with a space and the word to guess");
  expect_error([] { task_named("helaswag"); },
               "unknown task 'helaswag'; did you mean 'hellaswag'?");
}

constexpr std::string_view kTwoLines =
    "{\"query\": \"q\", \"choices\": [\"a\", \"b\"], \"label\": 0}\n\n"
    "{\"query\": \"r\", \"choices\": [\"c\", \"d\"], \"label\": 1}\n";

TEST(TaskFiles, AreFoundByTheirBeginning) {
  const TempDir dir;
  const Task& task = task_named("piqa");
  expect_error([&] { require_task_file(task, dir.path()); },
               "no file for piqa, looked for piqa*.jsonl, also .xz, .gz or .zst behind it");
  write_file(dir / "piqa.txt", "no");
  EXPECT_FALSE(find_task_file(task, dir.path()).has_value());
  write_file(dir / "piqa_val.jsonl.xz", xz_of(kTwoLines));
  EXPECT_EQ(require_task_file(task, dir.path()), dir / "piqa_val.jsonl.xz");
  write_file(dir / "piqa_train.jsonl", kTwoLines);
  expect_error([&] { find_task_file(task, dir.path()); }, "could be the file of piqa; keep one");
  expect_error([&] { find_task_file(task, dir / "nowhere"); }, "is not a folder");
  expect_error([&] { find_task_file(task, std::string(5000, 'a')); },
               "is not a folder: File name too long");
}

TEST(TaskFiles, MayBePacked) {
  const TempDir dir;
  const auto lines_in = [&](const std::string& content) {
    write_file(dir / "f.jsonl", content);
    std::vector<std::int64_t> lines;
    for (const TaskExample& example : read_examples(task_named("piqa"), dir / "f.jsonl", 0))
      lines.push_back(example.line);
    return lines;
  };
  const std::vector<std::int64_t> want{1, 3};
  EXPECT_EQ(lines_in(std::string(kTwoLines)), want);
  EXPECT_EQ(lines_in(xz_of(kTwoLines)), want);
  EXPECT_EQ(lines_in(gzip_of(kTwoLines)), want);
  EXPECT_EQ(lines_in(zstd_of(kTwoLines)), want);
  EXPECT_EQ(read_examples(task_named("piqa"), dir / "f.jsonl", 1).size(), 1u);
}

TEST(TaskFiles, ErrorsNameFileAndLine) {
  const TempDir dir;
  const std::string path = dir / "f.jsonl";
  const auto refused = [&](std::string_view content, std::string_view part) {
    write_file(path, content);
    expect_error([&] { read_examples(task_named("piqa"), path, 0); }, path + std::string(part));
  };
  refused(std::string(kTwoLines) + "{\"query\": \"q\"}\n", ": line 4: key 'choices' is missing");
  refused("{\"text\": \"a b\"}", ": line 1: expected 'query', 'choices' and 'label'");
  refused("\n\n", ": no examples");
}

TEST(TaskFiles, AreTasksOfTheirOwn) {
  const TempDir dir;
  write_file(dir / "f.jsonl", kTwoLines);
  EXPECT_EQ(task_of_file(dir / "f.jsonl").kind, TaskKind::kChoices);
  write_file(dir / "f.jsonl", "{\"text\": \"a b\"}\n");
  EXPECT_EQ(task_of_file(dir / "f.jsonl").kind, TaskKind::kLastWord);
  EXPECT_EQ(task_of_file(dir / "f.jsonl").name, dir / "f.jsonl");
}

}  // namespace
}  // namespace twill
