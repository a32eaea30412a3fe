// SPDX-License-Identifier: Apache-2.0
// A config with every kind of field, for the tests of reading, writing, help and comparison.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"

namespace twill {

struct SampleFfn {
  std::string activation = "gelu";
  std::int64_t hidden = 0;

  void fields(FieldVisitor& visit) {
    static constexpr std::string_view kActivations[] = {"gelu", "gelu-tanh", "swiglu", "geglu"};
    visit("activation", activation, kActivations, "what stands between the two products");
    visit("hidden", hidden, Range<std::int64_t>{0, std::numeric_limits<std::int64_t>::max()},
          "width; 0: four times the width of the model");
  }
};

struct SampleModel {
  std::string name = "tiny";
  SampleFfn ffn;
  std::int64_t layers = 2;

  // A field after a section: TOML wants it before.
  void fields(FieldVisitor& visit) {
    visit("name", name, Choices{}, "preset");
    visit.section("ffn", ffn, "feed-forward layer");
    visit("layers", layers, Range<std::int64_t>{1, 1000}, "number of blocks");
  }
};

struct SampleGroup {
  std::string match = "*";
  double lr_scale = 1.0;

  void fields(FieldVisitor& visit) {
    visit("match", match, Choices{}, "names of the weights, as a glob");
    visit("lr_scale", lr_scale, Range<double>{0.0, 100.0}, "factor on the learning rate");
  }
};

struct SampleOptimizer {
  double lr = 1e-3;
  std::vector<SampleGroup> groups;

  void fields(FieldVisitor& visit) {
    visit("lr", lr, Range<double>{0.0, 10.0}, "learning rate", OnResume::kFree);
    visit.list("group", groups, "rules for some of the weights");
  }
};

struct SampleTrain {
  std::int64_t steps = 100;
  bool verbose = false;
  std::vector<std::string> data = {"builtin"};

  void fields(FieldVisitor& visit) {
    visit("steps", steps, Range<std::int64_t>{1, 1'000'000'000}, "optimizer steps");
    visit("verbose", verbose, "say more", OnResume::kFree);
    visit("data", data, "texts");
  }
};

struct SampleConfig {
  std::string device = "cpu";
  SampleModel model;
  SampleTrain train;
  SampleOptimizer optimizer;

  void fields(FieldVisitor& visit) {
    visit.section("model", model, "the network", "name");
    visit.section("train", train, "the run");
    visit.section("optimizer", optimizer, "how the weights move");
    visit("device", device, Choices{}, "where to run");
  }
};

}  // namespace twill
