// SPDX-License-Identifier: Apache-2.0
// A folder with all that is below it. `folder` is a descriptor, and `name` is found from there; with
// AT_FDCWD it may be a path. No links are followed. Private to io.
#pragma once

#include <string>

namespace twill {

// Forces every file and folder to disk. Errors name `shown`.
void sync_tree(int folder, const std::string& name, const std::string& shown);

// What cannot be removed stays.
void remove_tree(int folder, const std::string& name);

}  // namespace twill
