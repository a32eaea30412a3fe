// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM ask for a clean stop; a second one ends the process at once.
#pragma once

#include <atomic>

namespace twill::cli {

// Installs the handlers for its lifetime.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  const std::atomic<bool>& requested() const;
};

}  // namespace twill::cli
