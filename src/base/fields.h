// SPDX-License-Identifier: Apache-2.0
// The vocabulary behind every config struct. A config lists its fields once, in
//
//   void fields(FieldVisitor& visit) {
//     visit("steps", steps, Range<std::int64_t>{1, 1'000'000'000}, "optimizer steps");
//     visit.section("eval", eval, "evaluation during training");
//   }
//
// and TOML files, command-line overrides, help, range checks, the saved config and the comparison
// on resume all walk that list. The visitor is an interface, so that heavy parsers stay in one
// source file each.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.h"

namespace twill {

template <class T>
struct Range {
  T low;
  T high;
};

// The words a string field accepts; an empty list accepts any text.
using Choices = std::span<const std::string_view>;

// May a resumed run change this field? A fixed field decides what is learnt; a free one does not.
enum class OnResume { kFixed, kFree };

class FieldVisitor {
 public:
  virtual ~FieldVisitor() = default;

  void operator()(std::string_view key, std::int64_t& value, Range<std::int64_t> range,
                  std::string_view help, OnResume on_resume = OnResume::kFixed) {
    integer(key, value, range, help, on_resume);
  }
  void operator()(std::string_view key, double& value, Range<double> range, std::string_view help,
                  OnResume on_resume = OnResume::kFixed) {
    real(key, value, range, help, on_resume);
  }
  void operator()(std::string_view key, bool& value, std::string_view help,
                  OnResume on_resume = OnResume::kFixed) {
    boolean(key, value, help, on_resume);
  }
  void operator()(std::string_view key, std::string& value, Choices choices, std::string_view help,
                  OnResume on_resume = OnResume::kFixed) {
    text(key, value, choices, help, on_resume);
  }
  // A word of an enumeration (base/words.h): a text with choices for whoever reads or writes it.
  template <HasWords Enum>
  void operator()(std::string_view key, Enum& value, std::string_view help,
                  OnResume on_resume = OnResume::kFixed) {
    std::string word(word_of(value));
    text(key, word, words_of<Enum>(), help, on_resume);
    if (const std::optional<Enum> known = find_word<Enum>(word)) value = *known;
  }
  void operator()(std::string_view key, std::vector<std::string>& value, std::string_view help,
                  OnResume on_resume = OnResume::kFixed) {
    texts(key, value, help, on_resume);
  }

  // A text for which a file may also write a plain number: until = 0.8333 or "250000 steps".
  void number_or_text(std::string_view key, std::string& value, std::string_view help,
                      OnResume on_resume = OnResume::kFixed) {
    text_or_number(key, value, help, on_resume);
  }

  // A nested table. `short_for` names the field that a plain value stands for (model = "tiny").
  template <class Config>
  void section(std::string_view key, Config& config, std::string_view help,
               std::string_view short_for = {}) {
    if (!enter_section(key, help, short_for)) return;
    config.fields(*this);
    leave_section();
  }

  // An array of tables, [[optimizer.group]].
  template <class Config>
  void list(std::string_view key, std::vector<Config>& items, std::string_view help) {
    items.resize(enter_list(key, items.size(), help));
    for (std::size_t index = 0; index < items.size(); ++index) {
      enter_item(index);
      items[index].fields(*this);
      leave_item();
    }
    leave_list();
  }

 protected:
  virtual void integer(std::string_view key, std::int64_t& value, Range<std::int64_t> range,
                       std::string_view help, OnResume on_resume) = 0;
  virtual void real(std::string_view key, double& value, Range<double> range, std::string_view help,
                    OnResume on_resume) = 0;
  virtual void boolean(std::string_view key, bool& value, std::string_view help,
                       OnResume on_resume) = 0;
  virtual void text(std::string_view key, std::string& value, Choices choices,
                    std::string_view help, OnResume on_resume) = 0;
  virtual void text_or_number(std::string_view key, std::string& value, std::string_view help,
                              OnResume on_resume) {
    text(key, value, {}, help, on_resume);
  }
  virtual void texts(std::string_view key, std::vector<std::string>& value, std::string_view help,
                     OnResume on_resume) = 0;
  // Returns false to pass the section over.
  virtual bool enter_section(std::string_view key, std::string_view help,
                             std::string_view short_for) = 0;
  virtual void leave_section() = 0;
  // Returns the number of items the list shall have.
  virtual std::size_t enter_list(std::string_view key, std::size_t size, std::string_view help) = 0;
  virtual void enter_item(std::size_t index) = 0;
  virtual void leave_item() = 0;
  virtual void leave_list() = 0;
};

// The known word with the smallest edit distance to `word`; empty when nothing is known.
std::string nearest(std::string_view word, std::span<const std::string> known);

// The same, but empty where even that one is another word: at most a third of the letters, and two of
// a short word, may differ.
std::string near(std::string_view word, std::span<const std::string> known);

// "a, b or c", for error messages.
std::string join_choices(Choices choices);

}  // namespace twill
