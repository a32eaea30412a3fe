// SPDX-License-Identifier: Apache-2.0
// Power, memory and clock of a GPU as the driver's management library tells them. The library is
// looked for when first asked; where it is missing or refuses, the readings are empty.
#pragma once

#include "ops/kernel_table.h"

namespace twill::cuda {

// Needs no CUDA context. Power is the driver's mean over about a second. Well below a millisecond,
// but for the first call, which opens the library.
DeviceReadings readings(const Device& device);

}  // namespace twill::cuda
