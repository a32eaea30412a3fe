// SPDX-License-Identifier: Apache-2.0
// From the config's device and precision to a backend and a type.
#pragma once

#include "ops/context.h"
#include "tensor/dtype.h"
#include "train/run/run_config.h"

namespace twill {

enum class Use { kTraining, kInference };

// auto takes the GPU when there is one that this build can use, else the cpu; a GPU that has to be
// passed by is a warning of one line. A device asked for by name is taken or refused. On the cpu
// train.precision = "bf16" takes the table whose products round their operands.
Context open_context(const RunConfig& config, Use use = Use::kTraining);

// Of activations and operands in training: bf16 where the backend stores it, unless asked otherwise.
// Throws twill::Error when bf16 is asked for and the backend neither stores nor rounds to it.
DType storage_type(const RunConfig& config, const Context& context);

// Puts what auto has chosen into the config: a run stays where it began.
void keep_choice(RunConfig& config, const Context& context);

}  // namespace twill
