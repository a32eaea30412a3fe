// SPDX-License-Identifier: Apache-2.0
// Options that several commands take. Sees CLI11: for command_line.cpp and bench_options.cpp alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace twill::cli {

// CLI11's own checks of a sign name the largest double, all 309 digits of it.
inline CLI::Validator at_least(std::int64_t low) {
  const auto check = [low](const std::string& word) {
    std::int64_t value = 0;
    const bool good = CLI::detail::lexical_cast(word, value) && value >= low;
    return good ? std::string() : fmt::format("{} is not a whole number from {} on", word, low);
  };
  return CLI::Validator(check, fmt::format("{} or more", low));
}

inline void add_words(CLI::App& command, std::vector<std::string>& words) {
  command.add_option("words", words, "[CONFIG.toml] [key=value ...]")->option_text(" ");
  command.allow_extras();
}

inline void add_threads(CLI::App& command, std::int64_t& threads) {
  command.add_option("--threads", threads, "threads to use; 0: all cores")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{4096}))
      ->capture_default_str();
}

inline void add_text_key(CLI::App& command, std::string& text_key) {
  command.add_option("--text-key", text_key, "where a line of JSON Lines holds its text")
      ->capture_default_str();
}

inline void add_runs_dir(CLI::App& command, std::string& runs_dir) {
  command.add_option("--dir", runs_dir, "folder that holds the runs")->capture_default_str();
}

// A command of its own, `twill NAME …`, or one of a group, `twill GROUP NAME …`.
inline CLI::App* add_command(CLI::App& parent, const char* name, const char* what) {
  CLI::App* command = parent.add_subcommand(name, what);
  command->allow_extras();  // reject() says which word was meant
  return command;
}

}  // namespace twill::cli
