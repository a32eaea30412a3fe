// SPDX-License-Identifier: Apache-2.0
// twill probe descent: the table of train/studies/probe_descent.h.
#include <fmt/format.h>

#include "cli/commands.h"
#include "io/atomic_file.h"
#include "io/json/json_value.h"
#include "train/studies/probe_descent.h"

namespace twill::cli {
namespace {

void print_fit(const char* what, const DescentFit& fit) {
  fmt::print("  {:<26}{:>12.6f}{:>10.1f} %{:>13.3f}{:>13.6f}\n", what, fit.mean, 100.0 * fit.wrong,
             fit.correlation, fit.error);
}

void print_series(const DescentSeries& series) {
  fmt::print("\n{}, {:.4f} % of the positions change per step\n", series.projection,
             100.0 * series.mean(&DescentRow::flip_rate));
  fmt::print("  {:<26}{:>12}{:>12}{:>13}{:>13}\n", "", "mean change", "wrong way", "correlation",
             "mean error");
  fmt::print("  {:<26}{:>12.6f}\n", "predicted", series.mean(&DescentRow::predicted));
  print_fit("actual, mask frozen", series.fit(&DescentRow::frozen));
  print_fit("actual, mask updated", series.fit(&DescentRow::updated));
  fmt::print("  {:<26}{:>12.6f}\n", "first order along Ws", series.mean(&DescentRow::along));
  print_fit("  updated against it", series.fit(&DescentRow::updated, &DescentRow::along));
}

JsonObject json_of(const DescentFit& fit) {
  return {{"mean", fit.mean},
          {"wrong_direction", fit.wrong},
          {"correlation", fit.correlation},
          {"mean_error", fit.error}};
}

JsonObject json_of(const DescentSeries& series) {
  JsonArray rows;
  for (const DescentRow& row : series.rows)
    rows.emplace_back(JsonObject{{"step", row.step},
                                 {"loss", row.loss},
                                 {"predicted", row.predicted},
                                 {"frozen", row.frozen},
                                 {"updated", row.updated},
                                 {"along", row.along},
                                 {"flip_rate", row.flip_rate}});
  return {{"projection", series.projection},
          {"mean_predicted", series.mean(&DescentRow::predicted)},
          {"flip_rate", series.mean(&DescentRow::flip_rate)},
          {"frozen", json_of(series.fit(&DescentRow::frozen))},
          {"updated", json_of(series.fit(&DescentRow::updated))},
          {"updated_against_along", json_of(series.fit(&DescentRow::updated, &DescentRow::along))},
          {"steps", rows}};
}

}  // namespace

int run_probe_descent(const ProbeDescentCommand& command) {
  const DescentProbe probe = probe_descent({.run = command.run,
                                            .runs_dir = command.runs_dir,
                                            .steps = command.steps,
                                            .pattern = command.pattern,
                                            .threads = command.threads});
  fmt::print("{}: change of the loss over one step, on its own batch; {} steps each\n",
             probe.checkpoint, command.steps);
  for (const DescentSeries& series : probe.series) print_series(series);
  if (command.json.empty()) return kDone;
  JsonArray all;
  for (const DescentSeries& series : probe.series) all.emplace_back(json_of(series));
  write_file(command.json, to_json(JsonObject{{"checkpoint", probe.checkpoint}, {"series", all}}));
  return kDone;
}

}  // namespace twill::cli
