// SPDX-License-Identifier: Apache-2.0
#include "io/config/toml_config.h"

#include <gtest/gtest.h>

#include "io/config/sample_config.h"
#include "io/error_text.h"
#include "io/temp_dir.h"

namespace twill {
namespace {

SampleConfig read_text(std::string_view text) {
  SampleConfig config;
  read(TomlDocument::parse_text(text, "a.toml"), config);
  return config;
}

SampleConfig read_overrides(std::initializer_list<std::string_view> overrides) {
  TomlDocument document;
  for (const std::string_view line : overrides) document.overlay(line);
  SampleConfig config;
  read(document, config);
  return config;
}

std::string file_error(std::string_view text) {
  return error_text([&] { read_text(text); });
}
std::string override_error(std::string_view line) {
  return error_text([&] { read_overrides({line}); });
}

TEST(TomlConfig, ReadsEveryKindOfField) {
  const SampleConfig config = read_text(R"(
device = "gpu"
model.name = "big"
[model.ffn]
activation = "swiglu"
[train]
steps = 7
verbose = true
data = ["a.txt", "b.txt"]
[optimizer]
lr = 2
[[optimizer.group]]
match = "*.bias"
[[optimizer.group]]
lr_scale = 0.5
)");
  EXPECT_EQ(config.device, "gpu");
  EXPECT_EQ(config.model.name, "big");
  EXPECT_EQ(config.model.ffn.activation, "swiglu");
  EXPECT_EQ(config.model.layers, 2);
  EXPECT_EQ(config.train.steps, 7);
  EXPECT_TRUE(config.train.verbose);
  EXPECT_EQ(config.train.data, (std::vector<std::string>{"a.txt", "b.txt"}));
  EXPECT_EQ(config.optimizer.lr, 2.0);  // a whole number is a number
  ASSERT_EQ(config.optimizer.groups.size(), 2u);
  EXPECT_EQ(config.optimizer.groups[0].match, "*.bias");
  EXPECT_EQ(config.optimizer.groups[0].lr_scale, 1.0);
  EXPECT_EQ(config.optimizer.groups[1].lr_scale, 0.5);
}

TEST(TomlConfig, AnEmptyDocumentChangesNothing) {
  SampleConfig config;
  config.train.steps = 5;
  config.optimizer.groups.resize(2);
  read(TomlDocument(), config);
  EXPECT_EQ(config.train.steps, 5);
  EXPECT_EQ(config.optimizer.groups.size(), 2u);
}

TEST(TomlConfig, OverridesNeedNoQuotes) {
  const SampleConfig config =
      read_overrides({"model.name=1.1b", "train.data=/a/b c.txt", "train.steps= 12 ",
                      "train.verbose=true", "optimizer.lr=3e-4", "device=\"quoted\""});
  EXPECT_EQ(config.model.name, "1.1b");
  EXPECT_EQ(config.train.data, std::vector<std::string>{"/a/b c.txt"});
  EXPECT_EQ(config.train.steps, 12);
  EXPECT_TRUE(config.train.verbose);
  EXPECT_EQ(config.optimizer.lr, 3e-4);
  EXPECT_EQ(config.device, "quoted");
}

TEST(TomlConfig, ATextOfTheCommandLineMayLookLikeANumber) {
  EXPECT_EQ(read_overrides({"model.name=7"}).model.name, "7");
  EXPECT_EQ(read_overrides({"model.name=007"}).model.name, "007");
  EXPECT_EQ(read_overrides({"model.name=true"}).model.name, "true");
  EXPECT_EQ(read_overrides({"model.name=2024-05-01"}).model.name, "2024-05-01");
  EXPECT_EQ(read_overrides({"model.name="}).model.name, "");
  EXPECT_EQ(read_overrides({"model.name=a=b"}).model.name, "a=b");
  EXPECT_EQ(read_overrides({"train.data=[\"a\", \"b\"]"}).train.data.size(), 2u);
}

TEST(TomlConfig, ALineEndInAValueAddsNoKey) {
  const SampleConfig config = read_overrides({"model.name=1\ntrain=2"});
  EXPECT_EQ(config.model.name, "1\ntrain=2");
}

TEST(TomlConfig, LaterLayersWin) {
  TomlDocument document = TomlDocument::parse_text(
      "[model]\nname = 'preset'\nlayers = 9\n[train]\nsteps = 1\n[[optimizer.group]]\n"
      "lr_scale = 3.0\n[[optimizer.group]]",
      "preset");
  document.overlay(
      TomlDocument::parse_text("model = 'tiny'\n[[optimizer.group]]\nmatch = 'x'", "a.toml"));
  document.overlay("model.ffn.activation=geglu");
  document.overlay("train.steps=4");
  SampleConfig config;
  read(document, config);
  EXPECT_EQ(config.model.name, "tiny");  // the short form merges into the table below it
  EXPECT_EQ(config.model.layers, 9);
  EXPECT_EQ(config.model.ffn.activation, "geglu");
  EXPECT_EQ(config.train.steps, 4);
  ASSERT_EQ(config.optimizer.groups.size(), 1u);  // arrays are replaced as a whole
  EXPECT_EQ(config.optimizer.groups[0].match, "x");
  EXPECT_EQ(config.optimizer.groups[0].lr_scale, 1.0);
}

TEST(TomlConfig, ShortForms) {
  EXPECT_EQ(read_text("model = 'big'").model.name, "big");
  EXPECT_EQ(read_overrides({"model=big"}).model.name, "big");
  EXPECT_EQ(read_overrides({"model=big", "model.name=small"}).model.name, "small");
  EXPECT_EQ(read_overrides({"model.name=small", "model=big"}).model.name, "big");
  const SampleConfig both = read_overrides({"model=big", "model.layers=3"});
  EXPECT_EQ(both.model.name, "big");
  EXPECT_EQ(both.model.layers, 3);
}

TEST(TomlConfig, TextAtHonoursLayersAndShortForms) {
  TomlDocument document;
  EXPECT_EQ(document.text_at("model.name"), std::nullopt);
  document.overlay(TomlDocument::parse_text("device = 'x'\nmodel.name = 'a'\ntrain.steps=3", "f"));
  EXPECT_EQ(document.text_at("model.name"), "a");
  EXPECT_EQ(document.text_at("device"), "x");
  EXPECT_EQ(document.text_at("train.steps"), std::nullopt);
  EXPECT_EQ(document.text_at("model"), std::nullopt);
  document.overlay("model=b");
  EXPECT_EQ(document.text_at("model.name"), "b");
  document.overlay("model.layers=4");
  EXPECT_EQ(document.text_at("model.name"), "b");
  document.overlay("model.name=5");
  EXPECT_EQ(document.text_at("model.name"), "5");
}

TEST(TomlConfig, EntriesOfListsAreAddressedByIndex) {
  TomlDocument document =
      TomlDocument::parse_text("[[optimizer.group]]\nmatch='a'\n[[optimizer.group]]", "a.toml");
  document.overlay("optimizer.group.0.lr_scale=2");
  document.overlay("optimizer.group.2.match=new");
  SampleConfig config;
  read(document, config);
  ASSERT_EQ(config.optimizer.groups.size(), 3u);
  EXPECT_EQ(config.optimizer.groups[0].match, "a");
  EXPECT_EQ(config.optimizer.groups[0].lr_scale, 2.0);
  EXPECT_EQ(config.optimizer.groups[2].match, "new");
}

TEST(TomlConfig, IndicesReachEntriesThatTheConfigHasByItself) {
  TomlDocument document;
  document.overlay("optimizer.group.1.lr_scale=2");
  SampleConfig config;
  config.optimizer.groups = {{.match = "a"}, {.match = "b"}};
  read(document, config);
  ASSERT_EQ(config.optimizer.groups.size(), 2u);
  EXPECT_EQ(config.optimizer.groups[1].match, "b");
  EXPECT_EQ(config.optimizer.groups[1].lr_scale, 2.0);
}

TEST(TomlConfigErrors, UnknownKeys) {
  EXPECT_EQ(file_error("[train]\nstepz = 3"),
            "a.toml: line 2: unknown key 'stepz' in [train]; did you mean 'steps'?");
  EXPECT_EQ(file_error("\n[trian]\nsteps = 3"),
            "a.toml: line 2: unknown key 'trian'; did you mean 'train'?");
  EXPECT_EQ(file_error("train.zz = 1\ntrain.stepz = 3"),
            "a.toml: line 1: unknown key 'zz' in [train]; `twill config --help` lists the keys");
  EXPECT_EQ(file_error("[model.ffn]\nactivatoin = 'gelu'"),
            "a.toml: line 2: unknown key 'activatoin' in [model.ffn]; did you mean 'activation'?");
  EXPECT_EQ(file_error("[[optimizer.group]]\n[[optimizer.group]]\nlr_scal = 2"),
            "a.toml: line 3: unknown key 'lr_scal' in [optimizer.group.1]; did you mean "
            "'lr_scale'?");
  EXPECT_EQ(override_error("train.stepz=3"),
            "command line: train.stepz=3: unknown key 'stepz' in [train]; did you mean 'steps'?");
}

TEST(TomlConfigErrors, AWordThatTheCallerKnows) {
  TomlDocument document;
  document.overlay("train.learning_rate=3");
  SampleConfig config;
  const auto hint = [](std::string_view word) {
    return word == "learning_rate" ? std::string("optimizer.lr") : std::string();
  };
  EXPECT_EQ(
      error_text([&] { read(document, config, hint); }),
      "command line: train.learning_rate=3: unknown key 'learning_rate' in [train]; Twill's is "
      "optimizer.lr");
}

TEST(TomlConfigErrors, AKeyOfAnotherTableIsNamedInFull) {
  EXPECT_EQ(override_error("steps=3"),
            "command line: steps=3: unknown key 'steps'; did you mean 'train.steps'?");
}

TEST(TomlConfigErrors, OutOfRange) {
  EXPECT_EQ(file_error("train.steps = 0"),
            "a.toml: line 1: train.steps = 0, expected 1 to 1000000000");
  EXPECT_EQ(override_error("train.steps=0"),
            "command line: train.steps=0: train.steps = 0, expected 1 to 1000000000");
  EXPECT_EQ(file_error("\n\n[optimizer]\nlr = -0.5"),
            "a.toml: line 4: optimizer.lr = -0.5, expected 0 to 10");
  EXPECT_EQ(file_error("optimizer.lr = nan"),
            "a.toml: line 1: optimizer.lr = nan, expected 0 to 10");
  EXPECT_EQ(file_error("model.ffn.hidden = -1"),
            "a.toml: line 1: model.ffn.hidden = -1, expected 0 or more");
  EXPECT_EQ(file_error("model.ffn.activation = 'foo'"),
            "a.toml: line 1: model.ffn.activation = \"foo\", expected gelu, gelu-tanh, swiglu or "
            "geglu");
}

TEST(TomlConfigErrors, WrongTypes) {
  EXPECT_EQ(file_error("\n\ntrain.steps = 'many'"),
            "a.toml: line 3: train.steps has the wrong type: expected an integer, got a string");
  EXPECT_EQ(file_error("train.steps = 1.5"),
            "a.toml: line 1: train.steps has the wrong type: expected an integer, got a number");
  EXPECT_EQ(file_error("optimizer.lr = true"),
            "a.toml: line 1: optimizer.lr has the wrong type: expected a number, got a boolean");
  EXPECT_EQ(file_error("train.verbose = 1"),
            "a.toml: line 1: train.verbose has the wrong type: expected a boolean, got an integer");
  EXPECT_EQ(file_error("device = 2024-05-01"),
            "a.toml: line 1: device has the wrong type: expected a string, got a date");
  EXPECT_EQ(file_error("train = 5"),
            "a.toml: line 1: train has the wrong type: expected a table, got an integer");
  EXPECT_EQ(file_error("model = 5"),
            "a.toml: line 1: model.name has the wrong type: expected a string, got an integer");
  EXPECT_EQ(file_error("train.data = 5"),
            "a.toml: line 1: train.data has the wrong type: expected a string or an array of "
            "strings, got an integer");
  EXPECT_EQ(file_error("train.data = ['a',\n5]"),
            "a.toml: line 2: train.data has the wrong type: expected an array of strings, got an "
            "integer");
  EXPECT_EQ(file_error("optimizer.group = 5"),
            "a.toml: line 1: optimizer.group has the wrong type: expected an array of tables, got "
            "an integer");
  EXPECT_EQ(file_error("optimizer.group = [5]"),
            "a.toml: line 1: optimizer.group.0 has the wrong type: expected a table, got an "
            "integer");
}

TEST(TomlConfigErrors, BadIndices) {
  EXPECT_EQ(override_error("optimizer.group.1.lr_scale=2"),
            "command line: optimizer.group.1.lr_scale=2: index 1 is out of range: the array has 0 "
            "entries");
  EXPECT_EQ(override_error("optimizer.group.lr_scale=2"),
            "command line: optimizer.group.lr_scale=2: 'lr_scale' is not the index of an array "
            "entry");
}

TEST(TomlConfigErrors, CommandLineSyntax) {
  EXPECT_EQ(override_error("train.steps"), "command line: train.steps: expected key=value");
  EXPECT_EQ(override_error("=3"),
            "command line: =3: expected key=value with a key like train.steps before the '='");
  EXPECT_EQ(override_error("train..steps=3"),
            "command line: train..steps=3: expected key=value with a key like train.steps before "
            "the '='");
  EXPECT_EQ(override_error("device=caf\xe9"),
            "command line: device=caf\xe9: the value is not UTF-8 text");
  EXPECT_TRUE(override_error("train.data=[\"a\"").starts_with("command line: train.data=[\"a\": "));
}

TEST(TomlConfigErrors, FilesAndSyntax) {
  const TempDir folder;
  const std::string missing = folder / "x.toml";
  EXPECT_EQ(error_text([&] { TomlDocument::parse_file(missing); }),
            "cannot read " + missing + ": No such file or directory");
  const std::string broken = folder.write("b.toml", "a = 1\nb = = 2\n");
  const std::string message = error_text([&] { TomlDocument::parse_file(broken); });
  EXPECT_TRUE(message.starts_with(broken + ": line 2: Error while parsing")) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  const std::string twice = error_text([] { TomlDocument::parse_text("a = 1\na = 2", "t"); });
  EXPECT_TRUE(twice.starts_with("t: line 2: Error while parsing")) << twice;
}

}  // namespace
}  // namespace twill
