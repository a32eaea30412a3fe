// SPDX-License-Identifier: Apache-2.0
// A device for machines without a GPU: the reference kernels behind every service that
// ops/kernel_table.h asks of a backend whose memory the host does not see. It is as strict as a
// device may be:
//
//   memory      closed to the host (PROT_NONE), with a guard page behind every block: whoever
//               touches it outside the device's own work ends the test with a segmentation fault
//   work        runs when somebody waits, never earlier, so a host that overwrites what queued work
//               still has to read changes the result
//   copies in   from staging memory read their host bytes when they run; from elsewhere at once
//   recording   keeps work; waiting, copying from and to the host, replaying and allocating are
//               refused meanwhile: stricter than a capturing CUDA stream, which takes pinned copies
//
// Arguments of kernels are copied, what spans in them point to is not: that must live until the
// work has run. One host thread at a time.
#pragma once

#include "ops/context.h"
#include "ops/kernel_table.h"

namespace twill {

// By value, so that a test can take an op or a service away or put its own there; it must outlive
// the contexts opened on it. stores_bf16 is false: of the reference kernels only cast and the
// updates know bf16. A test of these alone may set it.
KernelTable fake_device_table();
// The same with products that leave zeros out, of every mask: more than a GPU has.
KernelTable packing_fake_device_table();

// What a context on such a table has been asked for so far.
struct FakeDeviceCounts {
  int recordings = 0;  // begun
  int replays = 0;
  int waits = 0;  // copies out among them
};
FakeDeviceCounts fake_device_counts(const Context& context);

// Whether its queue keeps work instead of running it.
bool fake_device_records(const Context& context);

}  // namespace twill
