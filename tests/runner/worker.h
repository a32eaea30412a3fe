// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace twill::runner {

// Runs the tests of --gtest_filter and tells of each (runner/events.h) through `events`. What tests
// print goes to standard output, a file that may be emptied before each test.
int run_worker(int events);

}  // namespace twill::runner
