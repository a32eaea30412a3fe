// SPDX-License-Identifier: Apache-2.0
// Work that is done in every step, on a queue that can record it. The first run of each piece is
// plain: libraries choose their algorithms in it. The second is recorded; all later ones are
// replayed. Where a backend does not record, and while somebody observes ops, every run is plain.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string_view>

#include "ops/context.h"
#include "ops/kernel_table.h"

namespace twill {

class Recorder {
 public:
  explicit Recorder(const Context& context) : context_(context) {}

  // `name` outlives the recorder. What changes between runs is read from memory.
  void run(std::string_view name, const std::function<void()>& work);
  // What was recorded is out of date.
  void forget() { pieces_.clear(); }

 private:
  struct Piece {
    bool has_run = false;
    std::unique_ptr<Recording> recording;
  };
  std::unique_ptr<Recording> recorded(const std::function<void()>& work) const;

  const Context& context_;
  std::map<std::string_view, Piece> pieces_;
};

}  // namespace twill
