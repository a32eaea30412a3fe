// SPDX-License-Identifier: Apache-2.0
// Twill as a library. docs/library.md is the guide; the headers say what each function promises.
//
//   recipe.h   which method trains: built in code, or read from TOML
//   session.h  a model in training: steps, weights, logits, text, saving, export
//   error.h    what can go wrong, and whose it is
//
//   twill::Session session({"model=tiny", "train.steps=100"});
//   while (!session.done()) session.step();
//   std::cout << session.sample("Once", 100);
//   session.save("runs/mine");  // `twill sample mine`, `eval`, `export`, `train --resume` read it
#pragma once

#include "twill/error.h"
#include "twill/recipe.h"
#include "twill/session.h"
#include "twill/version.h"
