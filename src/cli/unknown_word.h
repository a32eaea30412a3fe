// SPDX-License-Identifier: Apache-2.0
// A word on the command line that no command takes, and what was probably meant.
#pragma once

#include <string>
#include <vector>

namespace twill::cli {

struct UnknownWord {
  std::string word;                // "--steps", "--lr=3e-4", "trian"
  std::string next;                // the word behind it; may be empty
  std::string command;             // "tune decay"; empty: the program itself
  std::vector<std::string> known;  // the options and subcommands of the command
  bool takes_settings = false;     // it takes key=value
};

// "unknown option '--steps'; settings are written key=value: train.steps=10"
std::string unknown_word_text(const UnknownWord& unknown);

}  // namespace twill::cli
