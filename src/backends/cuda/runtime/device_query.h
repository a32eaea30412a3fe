// SPDX-License-Identifier: Apache-2.0
// Which GPU there is, and whether this build has code for it.
#pragma once

#include <string>

#include "ops/kernel_table.h"

namespace twill::cuda {

DeviceReport find_device(int index, Device& device);
std::string describe();

}  // namespace twill::cuda
