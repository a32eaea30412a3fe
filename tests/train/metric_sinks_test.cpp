// SPDX-License-Identifier: Apache-2.0
#include "train/metrics/metric_sinks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "io/temp_dir.h"
#include "train/metrics/json_lines_sink.h"
#include "train/planned_run.h"

namespace twill {
namespace {

std::string text_of(const MetricRecord& record) { return to_compact_json(record.members()); }

TEST(MetricRecord, KeepsOrderAndTypes) {
  MetricRecord record;
  record.add("step", 12).add("tokens", std::int64_t{1} << 40).add("loss", 0.1).add("done", true);
  record.add("name", "a \"b\"\n\x01").add("whole", 2.0).add("small", 1e-7f);
  record.add("inner", MetricRecord().add("a", std::size_t{3}));
  EXPECT_EQ(text_of(record),
            R"({"step":12,"tokens":1099511627776,"loss":0.1,"done":true,)"
            R"("name":"a \"b\"\n\u0001","whole":2.0,"small":1.0000000116860974e-07,)"
            R"("inner":{"a":3}})");
  EXPECT_EQ(text_of(MetricRecord()), "{}");
}

TEST(MetricRecord, WhatJsonCannotSayIsNull) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(text_of(MetricRecord().add("a", std::nan("")).add("b", inf).add("c", -inf)),
            R"({"a":null,"b":null,"c":null})");
}

TEST(MetricRecord, BytesThatAreNotTextAreReplaced) {
  EXPECT_EQ(text_of(MetricRecord().add("a", "x\xff")), "{\"a\":\"x\xef\xbf\xbd\"}");
}

TEST(JsonLinesSink, ForgetsWhatAResumedRunWillWriteAgain) {
  const TempDir folder;
  const std::string path = folder / "m.jsonl";
  {
    JsonLinesSink sink(path);
    sink.begin(-1);
    for (int step = 0; step < 4; ++step) sink.write(MetricRecord().add("step", step));
  }
  JsonLinesSink sink(path);
  sink.begin(1);
  sink.write(MetricRecord().add("step", 2).add("again", true));
  sink.flush();
  EXPECT_EQ(content_of(path), "{\"step\":0}\n{\"step\":1}\n{\"step\":2,\"again\":true}\n");
}

// Keeps the steps it was given; fails from a step on.
class FailingSink : public MetricSink {
 public:
  explicit FailingSink(std::int64_t fails_at) : fails_at_(fails_at) {}
  std::string name() const override { return "the display"; }
  void begin(std::int64_t last_step) override { begun = last_step; }
  void write(const MetricRecord& record) override {
    const std::int64_t step = *JsonValue(record.members()).find("step")->integer();
    ++asked;
    if (step >= fails_at_) throw std::runtime_error("nobody looks");
    steps.push_back(step);
  }
  void flush() override { ++flushed; }

  std::int64_t begun = -2;
  std::vector<std::int64_t> steps;
  int asked = 0;
  int flushed = 0;

 private:
  std::int64_t fails_at_;
};

TEST(MetricSinks, OneThatFailsIsLeftOutAndSaidOnce) {
  const auto failing = std::make_shared<FailingSink>(2);
  const auto good = std::make_shared<FailingSink>(99);
  MetricSinks sinks;
  sinks.add(failing, OnSinkFailure::kGoOn);
  sinks.add(good, OnSinkFailure::kGoOn);
  const HeardWarnings heard;
  sinks.begin(5);
  for (int step = 0; step < 5; ++step) sinks.write(MetricRecord().add("step", step));
  sinks.flush();
  EXPECT_EQ(good->begun, 5);
  EXPECT_EQ(good->steps, (std::vector<std::int64_t>{0, 1, 2, 3, 4})) << "those behind it go on";
  EXPECT_EQ(failing->steps, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(failing->asked, 3) << "never asked again";
  EXPECT_EQ(failing->flushed, 0);
  ASSERT_EQ(heard.lines.size(), 1u);
  EXPECT_NE(heard.lines[0].find("the display gets no more metrics: nobody looks; the run goes on"),
            std::string::npos)
      << heard.lines[0];
}

TEST(MetricSinks, OneThatARunNeedsEndsIt) {
  MetricSinks sinks;
  sinks.add(std::make_shared<FailingSink>(1), OnSinkFailure::kStop);
  const HeardWarnings heard;
  sinks.begin(-1);
  EXPECT_THROW(sinks.write(MetricRecord().add("step", 1)), std::runtime_error);
  EXPECT_TRUE(heard.lines.empty());
}

// The run's own file has everything, and the weights are those of a run without the sink.
TEST(MetricSinks, ARunOutlivesASinkThatFails) {
  const TempDir dir;
  const auto train = [&](const std::string& name, std::vector<std::shared_ptr<MetricSink>> sinks) {
    StopAfter listener(-1);
    return run_training({.config_file = "",
                         .overrides = tiny_settings({"run.dir=" + dir.path(), "run.name=" + name}),
                         .resume = "",
                         .sinks = std::move(sinks)},
                        listener, listener.stop);
  };
  const auto failing = std::make_shared<FailingSink>(3);
  const HeardWarnings heard;
  EXPECT_EQ(train("plain", {}), Outcome::kDone);
  EXPECT_EQ(train("looked_at", {failing}), Outcome::kDone);
  EXPECT_EQ(failing->begun, -1);
  EXPECT_EQ(failing->steps, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(heard.lines.size(), 1u);
  const auto lines = [&](const std::string& run) {
    const std::string text = content_of(dir / (run + "/metrics.jsonl"));
    return std::count(text.begin(), text.end(), '\n');
  };
  EXPECT_EQ(lines("looked_at"), lines("plain"));
  const std::string last = "/checkpoints/step-00000012/model.safetensors";
  EXPECT_EQ(content_of(dir / ("looked_at" + last)), content_of(dir / ("plain" + last)));
}

}  // namespace
}  // namespace twill
