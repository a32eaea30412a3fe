// SPDX-License-Identifier: Apache-2.0
// The three things that can go wrong, and who can do something about it.
#pragma once

#include <stdexcept>

namespace twill {

// The caller can fix it: a config value, a file, a shape. The message says how. Exit code 2.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A device or its driver failed. Exit code 3.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A promise of ours is broken: a bug in Twill. Exit code 1.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace twill
