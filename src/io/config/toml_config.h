// SPDX-License-Identifier: Apache-2.0
// TOML files and command-line overrides on one side, config structs on the other. The structs list
// their fields once (base/fields.h); everything here walks that list.
//
//   TomlDocument wanted = TomlDocument::parse_file("configs/a.toml");
//   wanted.overlay("train.steps=2000");
//   TomlDocument document = preset_for(wanted.text_at("model.name"));
//   document.overlay(wanted);
//   read(document, config);
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace twill {

struct ConfigNode;

// Layers of TOML, the later one over the earlier one. Tables merge key by key; anything else,
// arrays included, is replaced as a whole. Every value remembers where it was written.
class TomlDocument {
 public:
  // Both throw twill::Error: `configs/a.toml: line 3: …`, `cannot read configs/x.toml: …`.
  static TomlDocument parse_file(const std::string& path);
  static TomlDocument parse_text(std::string_view text, std::string_view origin);

  // One `a.b=value` of the command line. A value that is not TOML is a string, so words need no
  // quotes. An entry of an array is addressed by its index: `optimizer.group.0.lr_scale=2`.
  void overlay(std::string_view key_equals_value);
  void overlay(const TomlDocument& upper);

  // The text under a dotted key, for what must be known before reading: text_at("model.name") also
  // finds the short form `model = "tiny"`. Empty when the key is absent or not a text.
  std::optional<std::string> text_at(std::string_view dotted_key) const;

  // Whether something stands under the key.
  bool has(std::string_view dotted_key) const;

  // Whether a whole list stands under the key, not only changes of some of its entries.
  bool has_list(std::string_view dotted_key) const;

  // Lowest first. For the reader; ConfigNode is private to io.
  const std::vector<std::shared_ptr<const ConfigNode>>& layers() const { return layers_; }

 private:
  std::vector<std::shared_ptr<const ConfigNode>> layers_;
};

// One field that is not the same in two configs. A field of a list that one side does not have is
// `(absent)` there.
struct FieldDifference {
  std::string key;  // dotted: "train.steps"
  std::string saved;
  std::string wanted;
  OnResume on_resume;
};

// A config as the functions below see it: something that shows its fields to a visitor.
using FieldWalk = std::function<void(FieldVisitor&)>;

// What a word that is no key may mean, as "optimizer.lr"; empty where nobody knows.
using KeyHint = std::function<std::string(std::string_view word)>;

void read_fields(const TomlDocument& document, const FieldWalk& walk, const KeyHint& hint = {});
std::string write_fields(const FieldWalk& walk);
std::string describe_field_list(const FieldWalk& walk);
std::vector<FieldDifference> field_differences(const FieldWalk& saved, const FieldWalk& wanted);

// Fills `config` from the document; fields that it does not mention keep their values. Throws
// twill::Error on an unknown key, a wrong type or a value out of range, naming file and line;
// the config is then half filled and not to be used.
template <class Config>
void read(const TomlDocument& document, Config& config, const KeyHint& hint = {}) {
  read_fields(
      document, [&](FieldVisitor& visit) { config.fields(visit); }, hint);
}

// Every field as TOML; read() gives back equal values, doubles bit for bit.
template <class Config>
std::string write_toml(Config& config) {
  return write_fields([&](FieldVisitor& visit) { config.fields(visit); });
}

// Help: each key with its type, range or choices, current value and sentence, at 100 columns.
// Takes a copy, because an empty list is shown with one entry (`optimizer.group.N.lr_scale`).
template <class Config>
std::string describe_fields(Config config) {
  return describe_field_list([&](FieldVisitor& visit) { config.fields(visit); });
}

// Field by field, in the order of declaration.
template <class Config>
std::vector<FieldDifference> differences(Config& saved, Config& wanted) {
  return field_differences([&](FieldVisitor& visit) { saved.fields(visit); },
                           [&](FieldVisitor& visit) { wanted.fields(visit); });
}

}  // namespace twill
