// SPDX-License-Identifier: Apache-2.0
#include "train/step/host_masters.h"

#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "io/temp_dir.h"
#include "ops/numbers/fill.h"
#include "support/expect_error.h"
#include "support/judge.h"
#include "train/fake_run.h"
#include "train/run/checkpoint.h"

namespace twill {
namespace {

using Floats = std::vector<float>;

KernelTable bf16_table() {
  KernelTable table = fake_device_table();
  table.stores_bf16 = true;
  return table;
}

// Two parameters with bf16 operands on a device, and their optimizer.
struct Bench {
  Bench() {
    builder.parameter("weight", {2, 3}, Init::kOnes);
    builder.parameter("bias", {4}, Init::kOnes);
    optimizer = std::make_unique<Optimizer>(builder, config);
    builder.commit();
  }
  Parameter& parameter(std::size_t index) { return builder.parameters()[index]; }
  Floats masters(std::size_t index) { return host_floats(context, parameter(index).value); }
  Floats operands(std::size_t index) { return host_floats(context, parameter(index).operand); }

  const KernelTable table = bf16_table();
  const Context context{table, 1};
  OptimizerConfig config;
  Builder builder{context, {.dtype = DType::kBf16}};
  std::unique_ptr<Optimizer> optimizer;
};

TEST(HostMasters, ShowTheDevicesValuesAndGoAgain) {
  Bench bench;
  fill(bench.context, {.x = bench.parameter(0).value, .value = 3.0});
  fill(bench.context, {.x = bench.optimizer->slots()[1].v, .value = 4.0});
  const std::byte* const weight = bench.parameter(0).value.bytes();
  const std::byte* const moment = bench.optimizer->slots()[1].v.bytes();
  {
    const HostMasters masters(bench.builder, bench.optimizer.get());
    EXPECT_EQ(bench.parameter(0).value.as<float>()[5], 3.0f);
    EXPECT_EQ(bench.optimizer->slots()[1].v.as<float>()[3], 4.0f);
    EXPECT_EQ(bench.optimizer->slots()[1].m.as<float>()[3], 0.0f);
    bench.parameter(0).value.as<float>()[5] = 9.0f;  // not uploaded
  }
  EXPECT_EQ(bench.parameter(0).value.bytes(), weight);
  EXPECT_EQ(bench.optimizer->slots()[1].v.bytes(), moment);
  EXPECT_EQ(bench.masters(0), Floats(6, 3.0f));
}

TEST(HostMasters, LeaveMomentsWhereNobodyAskedForThem) {
  Bench bench;
  const std::byte* const moment = bench.optimizer->slots()[0].m.bytes();
  const HostMasters masters(bench.builder);
  EXPECT_EQ(bench.optimizer->slots()[0].m.bytes(), moment);
}

TEST(HostMasters, UploadSetsMastersMomentsAndOperands) {
  Bench bench;
  const float between = 1.00390625f;  // of two bf16 numbers: operands are rounded, masters are not
  {
    HostMasters masters(bench.builder, bench.optimizer.get());
    std::fill_n(bench.parameter(0).value.as<float>(), 6, between);
    std::fill_n(bench.parameter(1).value.as<float>(), 4, -2.5f);
    std::fill_n(bench.optimizer->slots()[0].v.as<float>(), 6, 7.0f);
    masters.upload();
    // Still on the host, and may be set again.
    bench.parameter(1).value.as<float>()[0] = 8.0f;
    masters.upload();
  }
  EXPECT_EQ(bench.masters(0), Floats(6, between));
  EXPECT_EQ(bench.operands(0), Floats(6, 1.0f));
  EXPECT_EQ(bench.masters(1), (Floats{8.0f, -2.5f, -2.5f, -2.5f}));
  EXPECT_EQ(bench.operands(1), (Floats{8.0f, -2.5f, -2.5f, -2.5f}));
  EXPECT_EQ(host_floats(bench.context, bench.optimizer->slots()[0].v), Floats(6, 7.0f));
  EXPECT_EQ(host_floats(bench.context, bench.optimizer->slots()[0].m), Floats(6));
}

TEST(HostMasters, MoveNothingWhereMemoryIsShared) {
  const Context context(reference_table(), 1);
  Builder builder(context, {});
  builder.parameter("weight", {2}, Init::kOnes);
  builder.commit();
  const std::byte* const weight = builder.parameters()[0].value.bytes();
  HostMasters masters(builder);
  EXPECT_EQ(builder.parameters()[0].value.bytes(), weight);
  builder.parameters()[0].value.as<float>()[1] = 3.0f;
  masters.upload();
  EXPECT_EQ(builder.parameters()[0].value.as<float>()[1], 3.0f);
}

// The first update of AdamW moves a weight against its gradient by lr / (1 + eps / |g|), here 0.5
// less a part of 4e-8 = 0.7 kEpsF32; m, v and the new weight are rounded once each. Weights begin
// at zero, where there is nothing to decay.
TEST(OptimizerOnDevice, SetsMastersAndOperands) {
  Bench bench;
  ASSERT_TRUE(bench.optimizer->is_on_device(bench.context));
  bench.optimizer->prepare(bench.context);
  for (const Parameter& parameter : bench.builder.parameters())
    fill(bench.context, {.x = parameter.gradient, .value = 0.25});
  bench.optimizer->set_scalars(bench.context, 0.5, 1);
  bench.optimizer->norm_on_device(bench.context);
  bench.optimizer->update_on_device(bench.context);
  double done[2];
  copy_out(bench.context, done, bench.optimizer->loss_and_norm2());
  EXPECT_EQ(done[1], 10 * 0.0625);  // norm² of ten gradients, exact
  for (const std::size_t index : {0u, 1u}) {
    const Floats masters = bench.masters(index);
    for (const float value : masters) EXPECT_NEAR(value, -0.5, 4 * kEpsF32 * 0.5);
    for (std::size_t i = 0; i < masters.size(); ++i)
      EXPECT_EQ(bench.operands(index)[i], to_float(to_bf16(masters[i])));
  }
  // The loss beside the norm decides too.
  const Floats before = bench.masters(0);
  const double nan = std::nan("");
  copy_in(bench.context, bench.optimizer->loss_sum(), &nan);
  bench.optimizer->norm_on_device(bench.context);
  bench.optimizer->update_on_device(bench.context);
  EXPECT_EQ(bench.masters(0), before);
}

TEST(DeviceCheckpoint, ResumesToTheBit) {
  const std::vector<std::string> settings = in_three_parts({"model.dropout=0.1"});
  const TempDir dir;
  FakeRun whole(settings), first(settings), second(settings);
  const std::vector<double> losses = whole.losses(8);
  first.losses(4);
  const std::string path = save_checkpoint(dir.path(), first.trainer, 3);
  second.losses(3);  // has recorded already; what it learnt is replaced
  load_checkpoint(path, second.trainer);
  EXPECT_EQ(second.trainer.progress(), first.trainer.progress());
  EXPECT_EQ(second.moments(), first.moments());
  const std::vector<double> rest(losses.begin() + 4, losses.end());
  EXPECT_EQ(second.losses(4), rest);
  EXPECT_EQ(first.losses(4), rest) << "saving changes nothing";
  EXPECT_EQ(second.weights(), whole.weights());
  EXPECT_EQ(second.moments(), whole.moments());
}

// Without clipping both take the same steps (device_step_test.cpp), so a run may move between them.
TEST(DeviceCheckpoint, IsTheHosts) {
  const std::vector<std::string> settings{"optimizer.clip=0"};
  const TempDir dir;
  FakeRun host(settings, reference_table()), device(settings);
  host.losses(3);
  device.losses(3);
  const std::string path = save_checkpoint(dir / "device", device.trainer, 1);
  const std::string expected = save_checkpoint(dir / "host", host.trainer, 1);
  for (const char* file : {"/model.safetensors", "/state.safetensors"})
    EXPECT_TRUE(content_of(path + file) == content_of(expected + file)) << file;
  FakeRun moved(settings, reference_table());
  load_checkpoint(path, moved.trainer);
  EXPECT_EQ(moved.losses(2), device.losses(2));
  EXPECT_EQ(moved.weights(), device.weights());
}

TEST(DeviceCheckpoint, OfAnotherModelLeavesTheRunAlone) {
  const TempDir dir;
  FakeRun other({"model.layers=1"}), run, same;
  const std::string path = save_checkpoint(dir.path(), other.trainer, 1);
  run.losses(2);
  same.losses(2);
  expect_error([&] { load_checkpoint(path, run.trainer); }, "belongs to another model");
  EXPECT_EQ(run.losses(2), same.losses(2));
}

}  // namespace
}  // namespace twill
