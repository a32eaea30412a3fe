// SPDX-License-Identifier: Apache-2.0
// twill runs: what there is, and what of it can be freed.
#include "train/run/run_list.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/require.h"
#include "cli/commands.h"
#include "cli/screen/text_format.h"

namespace twill::cli {
namespace {

std::string time_text(std::time_t time) {
  return fmt::format("{:%Y-%m-%d %H:%M}", fmt::localtime(time));
}

std::vector<std::string> row_of(const RunSummary& run) {
  const std::string state = run.is_training ? "  training now" : "";
  if (!run.problem.empty())
    return {run.name, "?", "?", "?", "?", format_bytes(run.bytes), time_text(run.changed) + state};
  return {run.name,
          run.recipe,
          fmt::format("{} {}", run.model, format_count(static_cast<double>(run.parameters))),
          fmt::format("{}/{}", run.step, run.steps),
          run.validation_loss ? fmt::format("{:.4f}", *run.validation_loss) : "-",
          format_bytes(run.bytes),
          time_text(run.changed) + state};
}

void print_rows(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      // Numbers to the right: steps, loss, size.
      const bool is_right = i >= 3 && i <= 5;
      line += fmt::format(fmt::runtime(is_right ? "{:>{}}  " : "{:<{}}  "), row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    fmt::print("{}\n", line);
  }
}

std::vector<RunSummary> chosen_runs(const RunsCommand& command) {
  if (command.names.empty()) return list_runs(command.runs_dir);
  std::vector<RunSummary> runs;
  for (const std::string& name : command.names)
    runs.push_back(summarise_run(RunFolder::open(name, command.runs_dir)));
  return runs;
}

int print_runs(const RunsCommand& command) {
  const std::vector<RunSummary> runs = chosen_runs(command);
  if (runs.empty()) {
    fmt::print("no runs in {}; `{} train` makes one\n", command.runs_dir, command_name());
    return kDone;
  }
  std::vector<std::vector<std::string>> rows{
      {"run", "recipe", "model", "step", "val loss", "size", "changed"}};
  std::int64_t bytes = 0;
  for (const RunSummary& run : runs) {
    rows.push_back(row_of(run));
    bytes += run.bytes;
  }
  print_rows(rows);
  for (const RunSummary& run : runs)
    if (!run.problem.empty()) fmt::print("{}: {}\n", run.name, run.problem);
  fmt::print("\n{} {}, {}\n", runs.size(), runs.size() == 1 ? "run" : "runs", format_bytes(bytes));
  fmt::print("compare them  tools/plot_metrics.py {} --out losses.svg\n",
             runs.size() < 2
                 ? "RUN..."
                 : shell_quoted(runs[runs.size() - 2].path) + " " + shell_quoted(runs.back().path));
  fmt::print("free space    {} runs --prune\n", command_name());
  return kDone;
}

struct RunToPrune {
  RunFolder run;
  Prunable found;
};

// With what each run loses on the screen.
std::vector<RunToPrune> show_prunable(const std::vector<RunSummary>& runs) {
  std::vector<RunToPrune> all;
  for (const RunSummary& summary : runs) {
    if (summary.is_training) {
      fmt::print("{}: is being trained, left alone\n", summary.path);
      continue;
    }
    RunFolder run = RunFolder::open(summary.path, "");
    Prunable found = find_prunable(run);
    if (found.paths.empty()) continue;
    for (const std::string& path : found.paths) fmt::print("remove {}\n", path);
    all.push_back({std::move(run), std::move(found)});
  }
  return all;
}

bool is_confirmed() {
  fmt::print("remove them? [y/N] ");
  std::fflush(stdout);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

int prune_runs(const RunsCommand& command) {
  std::vector<RunToPrune> all = show_prunable(chosen_runs(command));
  if (all.empty()) {
    fmt::print("nothing to remove: every run has its latest checkpoint alone\n");
    return kDone;
  }
  std::int64_t bytes = 0;
  for (const RunToPrune& one : all) bytes += one.found.bytes;
  fmt::print("{} in {} {}; the latest checkpoint of each stays\n", format_bytes(bytes), all.size(),
             all.size() == 1 ? "run" : "runs");
  require(command.yes || ::isatty(STDIN_FILENO) != 0,
          "nothing is removed: there is nobody to ask; give --yes");
  if (!command.yes && !is_confirmed()) {
    fmt::print("nothing is removed\n");
    return kDone;
  }
  std::int64_t freed = 0;
  for (RunToPrune& one : all) freed += prune(one.run);
  fmt::print("freed {}\n", format_bytes(freed));
  return kDone;
}

}  // namespace

int run_runs(const RunsCommand& command) {
  require(command.prune || !command.yes, "--yes is for --prune");
  return command.prune ? prune_runs(command) : print_runs(command);
}

}  // namespace twill::cli
