// SPDX-License-Identifier: Apache-2.0
// A machine, products and algorithms to tell apart, and the lines that are logged.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/cuda/products/product_file.h"
#include "base/log.h"

namespace twill::cuda {

inline Machine some_machine() {
  return {.gpu = "NVIDIA H200", .num_sms = 132, .cublaslt_version = 130100, .driver = 13000};
}

inline ProductKey product(std::int64_t m) {
  return {.m = m, .n = 6400, .k = 1600, .trans_b = 1, .type = 2, .align_a = 16, .align_b = 8};
}

inline Algorithm algorithm(std::uint64_t number) {
  return {number, 0, 0x0123456789abcdef, 0, ~std::uint64_t{0}, 0, 0, number * 3};
}

// Keeps what is logged while it lives.
class LoggedLines {
 public:
  LoggedLines()
      : old_(set_log_sink([this](LogLevel, std::string_view line) { lines_.emplace_back(line); })) {
  }
  ~LoggedLines() { set_log_sink(std::move(old_)); }
  LoggedLines(const LoggedLines&) = delete;
  LoggedLines& operator=(const LoggedLines&) = delete;

  // The log holds its lock while it writes: as good as read when the work is over.
  const std::vector<std::string>& get() const { return lines_; }

 private:
  std::vector<std::string> lines_;
  LogSink old_;
};

}  // namespace twill::cuda
