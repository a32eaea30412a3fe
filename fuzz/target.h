// SPDX-License-Identifier: Apache-2.0
// What every fuzz target is made of. A twill::Error is the right answer to bad bytes; any other
// exception, a crash, a sanitizer's report, a large allocation or a long wait is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include "twill/error.h"

namespace twill {

// The bytes as a file that exists in memory alone, for parsers that take a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("fuzz", 0)) {
    std::size_t done = 0;
    while (done < bytes.size())
      done +=
          static_cast<std::size_t>(::write(descriptor_, bytes.data() + done, bytes.size() - done));
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace twill

// Defines the program: TWILL_FUZZ(bytes) { … parse(bytes) … }
#define TWILL_FUZZ(bytes)                                                             \
  static void fuzz_one(std::string_view bytes);                                       \
  extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) { \
    try {                                                                             \
      fuzz_one(std::string_view(reinterpret_cast<const char*>(data), size));          \
    } catch (const twill::Error&) {                                                   \
    }                                                                                 \
    return 0;                                                                         \
  }                                                                                   \
  static void fuzz_one(std::string_view bytes)
