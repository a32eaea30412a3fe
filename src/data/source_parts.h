// SPDX-License-Identifier: Apache-2.0
// Which files of a folder are for training and which for validation, by the names that people give
// them: train.bin and val.bin of nanoGPT, fineweb_train_000001.bin and fineweb_val_000000.bin of
// llm.c, wiki.train.txt and wiki.valid.txt, train/a.txt and validation/a.txt.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace twill {

enum class DataPart { kUnnamed, kTrain, kValidation, kTest };

// What a file's name says, of a path relative to the folder that was given. The last word that says
// something decides; words are runs of letters. Where the file's name says nothing, a folder on the
// way decides that is called by such a word and nothing else.
DataPart part_named(std::string_view relative_path);

struct SourceParts {
  std::vector<std::string> train;       // paths as given, or files where names say more
  std::vector<std::string> validation;  // files; never trained on
  std::vector<std::string> unused;      // files for tests, or for neither where others are for both
};

// Folders, and globs that find files of both kinds, are divided by names; a file that is given by
// itself is what it is given for. Files without a name of their own train where no file is named
// for training, and are passed over where some are. Throws twill::Error, as text_files() does.
SourceParts divide_by_name(std::span<const std::string> paths, std::string_view key);

// "a.bin", "a.bin and b.bin", "14 files (a.bin, …)", for people.
std::string list_files(std::span<const std::string> files);

}  // namespace twill
