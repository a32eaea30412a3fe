// SPDX-License-Identifier: Apache-2.0
#include "runner/events.h"

#include <sstream>

#include <fmt/format.h>

namespace twill::runner {

std::string start_event(const std::string& name) { return "start " + name + "\n"; }

std::string end_event(const Result& result) {
  return fmt::format("end {} {} {:.6f} {:.6f} {}\n{}", result.name, static_cast<int>(result.status),
                     result.seconds, result.cpu_seconds, result.text.size(), result.text);
}

std::optional<Event> take_event(std::string& read) {
  const std::size_t end = read.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::istringstream line(read.substr(0, end));
  std::string kind;
  Event event;
  line >> kind >> event.result.name;
  std::size_t bytes = 0;
  if (kind == "end") {
    int status = 0;
    line >> status >> event.result.seconds >> event.result.cpu_seconds >> bytes;
    event.is_end = true;
    event.result.status = static_cast<Status>(status);
    if (read.size() < end + 1 + bytes) return std::nullopt;
    event.result.text = read.substr(end + 1, bytes);
  }
  read.erase(0, end + 1 + bytes);
  return event;
}

}  // namespace twill::runner
