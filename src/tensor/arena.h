// SPDX-License-Identifier: Apache-2.0
// All memory of a step is reserved before the first step. An Arena is one named region of it
// ("weights", "activations", …): owners reserve slots while the model is built, commit() allocates
// once and fills every slot in. So the memory table is known, and printed, before memory is taken.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/memory.h"
#include "tensor/view.h"

namespace twill {

class Arena {
 public:
  explicit Arena(std::string name, const Memory& memory = host_memory());
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Asks for memory of this dtype and shape. `slot` must stay where it is until commit() sets it.
  void reserve(View& slot, DType dtype, Shape shape);

  // The same, but all slots reserved under one name share their bytes: scratch of layers that never
  // use it at the same time.
  void reserve_shared(std::string_view name, View& slot, DType dtype, Shape shape);

  void commit();

  const std::string& name() const { return name_; }
  std::int64_t num_bytes() const { return bytes_; }

 private:
  struct Slot {
    View* view;
    DType dtype;
    Shape shape;
    const std::string* group;  // of a shared slot; nullptr when private
  };
  struct Group {
    std::int64_t bytes = 0;
    std::int64_t offset = 0;
  };

  std::string name_;
  const Memory* memory_;
  std::vector<Slot> slots_;
  std::map<std::string, Group, std::less<>> groups_;
  std::int64_t bytes_ = 0;
  std::int64_t committed_ = 0;
  std::byte* data_ = nullptr;
};

}  // namespace twill
