// SPDX-License-Identifier: Apache-2.0
// A resumed run must be the run it was.
#pragma once

#include "data/tokenizer.h"
#include "train/run/run_config.h"
#include "train/run/run_folder.h"
#include "train/run/training_run.h"

namespace twill {

// What the folder has saved with what the request changes. Throws where that decides what is learnt.
RunConfig resumed_config(const TrainRequest& request, const RunFolder& folder,
                         const Tokenizer* tokenizer);

// Throws for an imported model: it has weights only.
void require_own_state(const RunFolder& folder);

}  // namespace twill
