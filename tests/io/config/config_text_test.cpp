// SPDX-License-Identifier: Apache-2.0
// Saving, help and comparison: the other walks over the list of fields.
#include <bit>

#include <gtest/gtest.h>

#include "io/config/sample_config.h"
#include "io/config/toml_config.h"

namespace twill {
namespace {

SampleConfig unusual_config() {
  SampleConfig config;
  config.device = "a \"b\" \\ c\n\ttab \x01\x7f ümläut";
  config.model.name = "big";
  config.optimizer.lr = 0.1 + 0.2;
  config.optimizer.groups = {{.match = "a", .lr_scale = 1e-7}, {.match = "b"}};
  config.train.data = {"x", "y \"z\""};
  return config;
}

TEST(WriteToml, IsReadableByPeople) {
  SampleConfig config;
  config.optimizer.groups.resize(1);
  EXPECT_EQ(write_toml(config), R"(device = "cpu"

[model]
name = "tiny"
layers = 2

[model.ffn]
activation = "gelu"
hidden = 0

[train]
steps = 100
verbose = false
data = ["builtin"]

[optimizer]
lr = 0.001

[[optimizer.group]]
match = "*"
lr_scale = 1.0
)");
}

TEST(WriteToml, ReadsBackEqual) {
  SampleConfig config = unusual_config();
  const std::string text = write_toml(config);
  SampleConfig again;
  read(TomlDocument::parse_text(text, "saved"), again);
  EXPECT_TRUE(differences(config, again).empty());
  EXPECT_EQ(again.device, config.device);
  EXPECT_EQ(write_toml(again), text);
}

TEST(WriteToml, AnEmptyListStaysEmpty) {
  SampleConfig config;
  const std::string text = write_toml(config);
  EXPECT_NE(text.find("lr = 0.001\ngroup = []\n"), std::string::npos) << text;
  SampleConfig again;
  again.optimizer.groups.resize(3);
  read(TomlDocument::parse_text(text, "saved"), again);
  EXPECT_TRUE(again.optimizer.groups.empty());
}

TEST(WriteToml, DoublesKeepTheirBits) {
  for (const double value : {0.0, -0.0, 1.0, 0.1, 1.0 / 3, 5e-324, 1e-5, 1e16, 1e22, 9.999999e9}) {
    SampleGroup group{.match = "x", .lr_scale = value};
    struct {
      SampleGroup* group;
      void fields(FieldVisitor& visit) {
        visit("v", group->lr_scale, Range<double>{-1e300, 1e300}, "value");
      }
    } config{&group};
    const std::string text = write_toml(config);
    group.lr_scale = 77;
    read(TomlDocument::parse_text(text, "t"), config);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(group.lr_scale), std::bit_cast<std::uint64_t>(value))
        << text;
  }
}

TEST(DescribeFields, ExplainsEveryKey) {
  EXPECT_EQ(describe_fields(SampleConfig{}), R"(  device                      text; default "cpu"
                              where to run

[model] the network; model=VALUE is short for model.name=VALUE
  model.name                  text; default "tiny"
                              preset
  model.layers                integer, 1 to 1000; default 2
                              number of blocks

[model.ffn] feed-forward layer
  model.ffn.activation        text: gelu, gelu-tanh, swiglu or geglu; default "gelu"
                              what stands between the two products
  model.ffn.hidden            integer, 0 or more; default 0
                              width; 0: four times the width of the model

[train] the run
  train.steps                 integer, 1 to 1000000000; default 100
                              optimizer steps
  train.verbose               true or false; default false; may change on resume
                              say more
  train.data                  list of texts; default ["builtin"]
                              texts

[optimizer] how the weights move
  optimizer.lr                number, 0 to 10; default 0.001; may change on resume
                              learning rate

[[optimizer.group]] rules for some of the weights
  optimizer.group.N.match     text; default "*"
                              names of the weights, as a glob
  optimizer.group.N.lr_scale  number, 0 to 100; default 1.0
                              factor on the learning rate
)");
}

TEST(DescribeFields, StaysWithinAHundredColumns) {
  struct {
    std::string long_name_of_a_field_that_goes_on_and_on = std::string(60, 'x');
    void fields(FieldVisitor& visit) {
      static constexpr std::string_view kWords[] = {"first-long-choice", "second-long-choice",
                                                    "third-long-choice", "fourth-long-choice"};
      visit("long_name_of_a_field_that_goes_on_and_on", long_name_of_a_field_that_goes_on_and_on,
            kWords,
            "a sentence that is so long that it does not fit on the rest of the line and "
            "has to be broken into several lines, each of which begins below the first");
    }
  } config;
  const std::string text = describe_fields(config);
  std::size_t longest = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    longest = std::max(longest, end - begin);
    begin = end + 1;
  }
  EXPECT_LE(longest, 100u) << text;
}

TEST(Differences, NamesFieldsAndBothValues) {
  SampleConfig saved;
  SampleConfig wanted;
  EXPECT_TRUE(differences(saved, wanted).empty());
  wanted.train.steps = 7;
  wanted.optimizer.lr = 0.5;
  wanted.model.ffn.activation = "swiglu";
  const std::vector<FieldDifference> found = differences(saved, wanted);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].key, "model.ffn.activation");
  EXPECT_EQ(found[0].saved, "\"gelu\"");
  EXPECT_EQ(found[0].wanted, "\"swiglu\"");
  EXPECT_EQ(found[0].on_resume, OnResume::kFixed);
  EXPECT_EQ(found[1].key, "train.steps");
  EXPECT_EQ(found[1].saved, "100");
  EXPECT_EQ(found[1].wanted, "7");
  EXPECT_EQ(found[2].key, "optimizer.lr");
  EXPECT_EQ(found[2].on_resume, OnResume::kFree);
}

TEST(Differences, ListsOfDifferentLength) {
  SampleConfig saved;
  SampleConfig wanted;
  saved.optimizer.groups = {{.match = "a"}};
  std::vector<FieldDifference> found = differences(saved, wanted);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].key, "optimizer.group.0.match");
  EXPECT_EQ(found[0].wanted, "(absent)");
  found = differences(wanted, saved);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].key, "optimizer.group.0.lr_scale");
  EXPECT_EQ(found[1].saved, "(absent)");
}

}  // namespace
}  // namespace twill
