// SPDX-License-Identifier: Apache-2.0
// What a worker tells the process that started it, over a pipe:
//
//   start NAME\n
//   end NAME STATUS SECONDS CPU_SECONDS BYTES\n followed by so many bytes of text
#pragma once

#include <optional>
#include <string>

#include "runner/results.h"

namespace twill::runner {

std::string start_event(const std::string& name);
std::string end_event(const Result& result);

struct Event {
  bool is_end = false;
  Result result;  // of a start only the name
};

// The first event of what has been read, which is taken away; nullopt: it is not complete yet.
std::optional<Event> take_event(std::string& read);

}  // namespace twill::runner
