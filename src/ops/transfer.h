// SPDX-License-Identifier: Apache-2.0
// Values between the host and the memory of a backend, ordered with the queue's other work. Where the
// memory is the host's own these are plain copies.
#pragma once

#include <vector>

#include "ops/context.h"
#include "tensor/tensor.h"
#include "tensor/view.h"

namespace twill {

// Whether kernels and host see the same memory.
bool shares_memory(const Context& context);

// `from` and `to` hold view.num_bytes() bytes. A copy in from staging_memory() may be read later, up
// to the next wait(); one from elsewhere has been read on return.
void copy_in(const Context& context, View to, const void* from);
void copy_out(const Context& context, void* to, ConstView from);

// The same number of bytes, inside the backend's memory; they must not overlap.
void copy(const Context& context, View to, ConstView from);

// Returns when everything given to the queue has been done.
void wait(const Context& context);

// Host memory from which copies to the device do not stop the host.
const Memory& staging_memory(const Context& context);

// The values of a view on the host: the view itself where the memory is shared, else a copy.
class HostCopy {
 public:
  HostCopy(const Context& context, ConstView view);
  ConstView view() const { return view_; }

 private:
  Tensor tensor_;
  ConstView view_;
};

// The values of a view of that type.
template <class T>
std::vector<T> host_values(const Context& context, ConstView view) {
  const HostCopy on_host(context, view);
  const T* values = on_host.view().as<T>();
  return {values, values + view.num_elements()};
}

// The values of an f32 or bf16 view, as f32 on the host.
std::vector<float> host_floats(const Context& context, ConstView view);

}  // namespace twill
