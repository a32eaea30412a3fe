// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <fmt/format.h>

#include "base/require.h"
#include "cli/commands.h"
#include "cli/screen/eval_report.h"
#include "io/atomic_file.h"
#include "io/packed/byte_source.h"
#include "train/model/trained_model.h"
#include "train/run/checkpoint.h"
#include "train/run/run_folder.h"

namespace twill::cli {
namespace {

// A task and the file it is read from.
struct Work {
  Task task;
  std::string file;
};

bool names_a_file(const std::string& word) { return word.find(".jsonl") != std::string::npos; }

// Every named task whose file is there.
std::vector<Work> all_tasks(const std::string& folder) {
  std::vector<Work> work;
  for (const Task& task : known_tasks()) {
    if (const auto file = find_task_file(task, folder)) {
      work.push_back({task, *file});
    } else {
      fmt::print("{}: no file in {}, left out\n", task.name, folder);
    }
  }
  require(!work.empty(), "{}: no file of any known task, such as hellaswag*.jsonl", folder);
  return work;
}

// Files are looked for before the model is opened: a wrong name should not cost a minute.
std::vector<Work> work_of(const EvalCommand& command) {
  std::vector<Work> work;
  for (const std::string& word : command.tasks) {
    if (names_a_file(word)) {
      work.push_back({task_of_file(word), word});
      continue;
    }
    if (word != "all") task_named(word);
    require(!command.data_dir.empty(), "--tasks {} needs --data DIR, the folder with its file",
            word);
    if (word == "all") {
      for (Work& one : all_tasks(command.data_dir)) work.push_back(std::move(one));
    } else {
      work.push_back({task_named(word), require_task_file(task_named(word), command.data_dir)});
    }
  }
  return work;
}

// What a run has been validated on while it was trained.
void evaluate_validation(const EvalCommand& command) {
  require(command.json.empty() && command.details.empty(),
          "--json and --details belong to --tasks and --text");
  const auto model =
      open_trained_model(command.run, runs_dir("", command.overrides), 0, command.overrides);
  require(model->is_run(),
          "{} is no run of ours and has no validation text: add --text FILE or --tasks NAME",
          command.run);
  const Evaluation result = evaluate(*model, model->config());
  fmt::print("checkpoint     {}\nstep           {}\ntokens         {}\nval_loss       {:.6f}\n",
             model->checkpoint(), step_of(model->checkpoint()), result.tokens, result.loss);
  fmt::print("perplexity     {:.4f}\n", std::exp(result.loss));
  if (result.bits_per_byte) fmt::print("bits per byte  {:.4f}\n", *result.bits_per_byte);
}

EvalReport run_all(const EvalCommand& command, const std::vector<Work>& work) {
  const auto model =
      open_trained_model(command.run, runs_dir("", command.overrides), 0, command.overrides);
  LikelihoodScorer scorer(model->context(), model->language_model(),
                          model->config().train.micro_batch);
  EvalProgressLine progress;
  EvalReport report{.model = model->checkpoint()};
  for (const std::string& path : command.texts) {
    const std::string text = read_all(*open_byte_source(path));
    require(!text.empty(), "{}: the text is empty, there is nothing to predict", path);
    report.texts.push_back({path, text_loss(scorer, model->tokenizer(), text, progress.of(path))});
  }
  for (const Work& one : work)
    report.tasks.push_back(run_task(scorer, model->tokenizer(), one.task, one.file, command.limit,
                                    progress.of(one.task.name)));
  return report;
}

}  // namespace

int run_eval(const EvalCommand& command) {
  if (command.tasks.empty() && command.texts.empty()) {
    evaluate_validation(command);
    return kDone;
  }
  const EvalReport report = run_all(command, work_of(command));
  fmt::print("{}", table_of(report));
  if (!command.json.empty()) write_file(command.json, json_of(report));
  if (!command.details.empty()) write_file(command.details, details_of(report));
  return kDone;
}

}  // namespace twill::cli
