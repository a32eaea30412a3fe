// SPDX-License-Identifier: Apache-2.0
#include "cli/unknown_word.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "base/fields.h"
#include "cli/screen/text_format.h"
#include "io/config/toml_config.h"
#include "train/run/foreign_words.h"
#include "train/run/run_config.h"
#include "train/run/run_folder.h"

namespace twill::cli {
namespace {

// "train.steps", or a section with a short form: "model".
bool is_key(std::string_view word) {
  const std::string all = "\n" + describe_fields(RunConfig());
  for (const char* end : {" ", "\n"})
    if (all.find(fmt::format("\n  {}{}", word, end)) != all.npos) return true;
  return all.find(fmt::format("; {}=VALUE is short for", word)) != all.npos;
}

// An option "--steps 10" or "--steps=10" as the setting that it means.
struct MeantSetting {
  std::string key;
  std::string note;
  std::string value;
};

std::optional<MeantSetting> setting_meant(const UnknownWord& unknown) {
  std::string_view name = unknown.word;
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  const std::size_t equals = name.find('=');
  const bool has_value = equals != name.npos;
  const bool is_next_value = !unknown.next.empty() && !unknown.next.starts_with("-") &&
                             unknown.next.find('=') == std::string::npos;
  MeantSetting meant;
  meant.value = has_value ? name.substr(equals + 1) : is_next_value ? unknown.next : "VALUE";
  name = name.substr(0, equals);
  if (const std::optional<ForeignWord> word = find_foreign_word(name)) {
    meant.key = word->key;
    meant.note = word->note;
  } else if (!name.empty() && is_key(name)) {
    meant.key = name;
  }
  if (meant.key.empty()) return std::nullopt;
  return meant;
}

}  // namespace

std::string unknown_word_text(const UnknownWord& unknown) {
  const bool is_option = unknown.word.starts_with("-");
  if (is_option && unknown.takes_settings) {
    if (const auto meant = setting_meant(unknown))
      return fmt::format("unknown option '{}'; settings are written key=value: {}={}{}",
                         unknown.word, meant->key, shell_quoted(meant->value),
                         meant->note.empty() ? "" : fmt::format(" ({})", meant->note));
    if (unknown.word.starts_with("--config"))
      return fmt::format("unknown option '{}'; a config file is given by itself: {} {} my.toml",
                         unknown.word, command_name(), unknown.command);
  }
  if (const std::string close = near(unknown.word, unknown.known); !close.empty())
    return fmt::format("unknown word '{}'; did you mean '{}'?", unknown.word, close);
  return fmt::format("unknown word '{}'; `{}{}{} --help` lists what there is", unknown.word,
                     command_name(), unknown.command.empty() ? "" : " ", unknown.command);
}

}  // namespace twill::cli
