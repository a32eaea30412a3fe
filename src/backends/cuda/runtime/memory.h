// SPDX-License-Identifier: Apache-2.0
// Device memory, pinned host memory, and copies between them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ops/kernel_table.h"

namespace twill::cuda {

const Memory& device_memory();
const Memory& pinned_memory();

void copy_in(std::byte* to, const std::byte* host, std::int64_t bytes, Queue& queue);
void copy_out(std::byte* host, const std::byte* from, std::int64_t bytes, Queue& queue);
void copy(std::byte* to, const std::byte* from, std::int64_t bytes, Queue& queue);
void wait(Queue& queue);

// What the device has left to give.
std::int64_t free_bytes();

}  // namespace twill::cuda
