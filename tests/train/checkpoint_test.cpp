// SPDX-License-Identifier: Apache-2.0
#include "train/run/checkpoint.h"
#include "models/decoder.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/bf16.h"
#include "base/log.h"
#include "io/temp_dir.h"
#include "support/expect_error.h"
#include "train/tiny_run.h"

namespace twill {
namespace {

namespace fs = std::filesystem;

void flip_byte(const std::string& path, std::int64_t from_end) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-from_end, std::ios::end);
  const char byte = static_cast<char>(file.get() ^ 0x10);
  file.seekp(-from_end, std::ios::end);
  file.put(byte);
}

TEST(Checkpoint, ResumesToTheBit) {
  const TempDir dir;
  TinyTrainer whole({"model.dropout=0.1"}), first({"model.dropout=0.1"}),
      second({"model.dropout=0.1"});
  const std::vector<double> losses = whole.losses(10);
  first.losses(6);
  load_checkpoint(save_checkpoint(dir.path(), first.trainer, 3), second.trainer);
  EXPECT_EQ(second.trainer.progress(), first.trainer.progress());
  EXPECT_EQ(second.losses(4), std::vector<double>(losses.begin() + 6, losses.end()));
  EXPECT_EQ(second.weights(), whole.weights());
}

const char* const kBf16Moments = "optimizer.moments=bf16";

TEST(Checkpoint, ResumesToTheBitWithBf16Moments) {
  const TempDir dir;
  TinyTrainer whole({kBf16Moments}), first({kBf16Moments}), second({kBf16Moments}), f32;
  const std::vector<double> losses = whole.losses(10);
  first.losses(6);
  const std::string path = save_checkpoint(dir / "bf16", first.trainer, 3);
  load_checkpoint(path, second.trainer);
  EXPECT_EQ(second.losses(4), std::vector<double>(losses.begin() + 6, losses.end()));
  EXPECT_EQ(second.weights(), whole.weights());
  EXPECT_NE(f32.losses(10), losses) << "the moments make a difference";
  const std::string wide = save_checkpoint(dir / "f32", f32.trainer, 3);
  // Names, shapes and metadata are a few KB; the moments are 2 B or 4 B each, two per weight.
  const auto weights = static_cast<std::int64_t>(whole.weights().size());
  const auto size_of_state = [](const std::string& checkpoint) {
    return static_cast<std::int64_t>(fs::file_size(checkpoint + "/state.safetensors"));
  };
  EXPECT_NEAR(static_cast<double>(size_of_state(wide) - size_of_state(path)),
              static_cast<double>(4 * weights), 1000.0);
}

TEST(Checkpoint, MomentsBecomeBf16ButNotF32Again) {
  const TempDir dir;
  TinyTrainer f32, bf16({kBf16Moments});
  f32.losses(3);
  const std::string path = save_checkpoint(dir / "f32", f32.trainer, 1);
  std::vector<std::string> lines;
  LogSink old = set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  load_checkpoint(path, bf16.trainer);
  set_log_sink(std::move(old));
  EXPECT_EQ(lines, std::vector<std::string>{path + "/state.safetensors: f32 moments become bf16 "
                                                   "(optimizer.moments)"});
  const Optimizer::Slot& from = f32.trainer.optimizer().slots().back();
  const Optimizer::Slot& to = bf16.trainer.optimizer().slots().back();
  for (std::int64_t i = 0; i < from.v.num_elements(); ++i) {
    EXPECT_EQ(to.m.as<Bf16>()[i], to_bf16(from.m.as<float>()[i]));
    EXPECT_EQ(to.v.as<Bf16>()[i], to_bf16(from.v.as<float>()[i]));
  }
  const std::string narrow = save_checkpoint(dir / "bf16", bf16.trainer, 1);
  const std::vector<float> before = f32.weights();
  expect_error([&] { load_checkpoint(narrow, f32.trainer); },
               "state.safetensors: its moments are bf16, but optimizer.moments = \"f32\"; set "
               "optimizer.moments=bf16");
  EXPECT_EQ(f32.weights(), before);
}

TEST(Checkpoint, EqualStatesAreEqualBytes) {
  const TempDir dir;
  TinyTrainer a, b({"run.name=other", "checkpoint.every=7"});
  a.losses(3);
  b.losses(3);
  const std::string path_a = save_checkpoint(dir / "a", a.trainer, 1);
  const std::string path_b = save_checkpoint(dir / "b", b.trainer, 1);
  for (const char* file : {"/model.safetensors", "/state.safetensors"})
    EXPECT_EQ(content_of(path_a + file), content_of(path_b + file));
}

TEST(Checkpoint, KeepsTheNewest) {
  const TempDir dir;
  TinyTrainer tiny;
  for (int i = 0; i < 4; ++i) {
    tiny.losses(1);
    save_checkpoint(dir.path(), tiny.trainer, 2);
  }
  const std::vector<std::string> left = list_checkpoints(dir.path());
  ASSERT_EQ(left.size(), 2u);
  EXPECT_EQ(step_of(left[0]), 3);
  EXPECT_EQ(step_of(left[1]), 4);
  EXPECT_EQ(dir.num_entries(), 2u) << "no temporaries stay behind";
}

TEST(Checkpoint, WeightsAreUsableAlone) {
  const TempDir dir;
  TinyTrainer tiny;
  tiny.losses(2);
  const std::string path = save_checkpoint(dir.path(), tiny.trainer, 1);
  fs::remove(path + "/state.safetensors");
  const ModelConfig config = load_model_config(path);
  EXPECT_EQ(config.width, 16);
  Builder builder(tiny.context, {.training = false, .max_batch = 4, .max_time = 16});
  Decoder model(builder, config);
  builder.commit();
  load_weights(path, builder);
  for (std::size_t i = 0; i < builder.parameters().size(); ++i)
    EXPECT_EQ(builder.parameters()[i].value.as<float>()[0],
              tiny.trainer.builder().parameters()[i].value.as<float>()[0]);
}

class DamagedCheckpoint : public testing::Test {
 protected:
  void SetUp() override {
    tiny_.losses(2);
    good_ = save_checkpoint(dir_.path(), tiny_.trainer, 9);
    tiny_.losses(1);
    bad_ = save_checkpoint(dir_.path(), tiny_.trainer, 9);
  }
  // The newest checkpoint is refused with `part`, the previous one is named and loads.
  void expect_refused(const std::string& part) {
    TinyTrainer fresh;
    expect_error([&] { load_checkpoint(bad_, fresh.trainer); }, part);
    expect_error([&] { load_checkpoint(bad_, fresh.trainer); },
                 "the previous good checkpoint is " + good_);
    load_checkpoint(good_, fresh.trainer);
    EXPECT_EQ(fresh.trainer.progress().step, 2);
  }

  TempDir dir_;
  TinyTrainer tiny_;
  std::string good_, bad_;
};

TEST_F(DamagedCheckpoint, Truncated) {
  const std::string file = bad_ + "/model.safetensors";
  fs::resize_file(file, fs::file_size(file) - 100);
  expect_refused("model.safetensors: truncated");
}

TEST_F(DamagedCheckpoint, Corrupted) {
  flip_byte(bad_ + "/state.safetensors", 1000);
  expect_refused("state.safetensors: checksum mismatch");
}

TEST_F(DamagedCheckpoint, FilesOfTwoCheckpoints) {
  fs::copy_file(good_ + "/state.safetensors", bad_ + "/state.safetensors",
                fs::copy_options::overwrite_existing);
  expect_refused("belong to different checkpoints");
}

TEST_F(DamagedCheckpoint, MissingFile) {
  fs::remove(bad_ + "/state.safetensors");
  expect_refused("state.safetensors");
}

TEST_F(DamagedCheckpoint, OfAnotherModel) {
  TinyTrainer wider({"model.width=32"});
  expect_error([&] { load_checkpoint(good_, wider.trainer); }, "expected");
  TinyTrainer deeper({"model.layers=3"});
  expect_error([&] { load_checkpoint(good_, deeper.trainer); }, "belongs to another model");
}

TEST_F(DamagedCheckpoint, NothingOlderIsLeft) {
  flip_byte(bad_ + "/model.safetensors", 10);
  flip_byte(good_ + "/model.safetensors", 10);
  TinyTrainer fresh;
  expect_error([&] { load_checkpoint(bad_, fresh.trainer); }, "no older good checkpoint is left");
}

}  // namespace
}  // namespace twill
