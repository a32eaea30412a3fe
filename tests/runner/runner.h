// SPDX-License-Identifier: Apache-2.0
// The whole suite in a few processes. A worker runs a chunk of tests; when one crashes or hangs, that
// test has failed and another worker runs the rest.
#pragma once

#include <string>
#include <vector>

#include "runner/results.h"

namespace twill::runner {

// A test that is a program of its own.
struct Script {
  std::string name;
  std::vector<std::string> command;
};

struct Options {
  int jobs = 1;
  double timeout = 300.0;                      // seconds for one test
  std::size_t chunk = 24;                      // tests for one process
  std::vector<std::string> worker_flags = {};  // further arguments of a worker
};

// Runs the tests named and the scripts; tells of progress and of failures on standard output.
std::vector<Result> run_all(std::vector<std::string> tests, const std::vector<Script>& scripts,
                            const Options& options);

}  // namespace twill::runner
