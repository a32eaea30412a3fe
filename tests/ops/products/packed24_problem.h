// SPDX-License-Identifier: Apache-2.0
// Packed 2:4 matrices in bf16, for backends that store such: cuda, where there is a GPU, there a second time
// as on the oldest GPU that packs, and a third time on few multiprocessors.
#pragma once

#include "ops/products/packed_problem.h"

namespace twill {

inline KernelTable cuda_table_as(const char* name, decltype(KernelTable::find_device) find_device) {
  KernelTable table = *cuda_table();
  table.name = name;
  table.find_device = find_device;
  return table;
}

// The cuda table on a device that passes for an Ampere: it takes what runs there, and so does every
// later one.
inline const KernelTable& table_as_on_ampere() {
  static const KernelTable ampere = cuda_table_as("cuda_as_sm80", [](int number, Device& device) {
    DeviceReport report = cuda_table()->find_device(number, device);
    device.generation = 80;
    return report;
  });
  return ampere;
}

// On a device of two multiprocessors, where a block has many tiles of the smallest product: what is finished
// under the next tile is.
inline const KernelTable& table_on_two_sms() {
  static const KernelTable small = cuda_table_as("cuda_on_two_sms", [](int number, Device& device) {
    DeviceReport report = cuda_table()->find_device(number, device);
    device.num_sms = 2;
    return report;
  });
  return small;
}

inline std::vector<Setup> setups_that_pack_bf16() {
  std::vector<Setup> setups;
  for (Setup setup : setups_with_device()) {
    if (setup.dtype != DType::kBf16 || !setup.table->stores_bf16 ||
        setup.table->packed_bytes == nullptr)
      continue;
    setups.push_back(setup);
    if (setup.table != cuda_table() || setup.offset != 0) continue;
    for (const KernelTable* table : {&table_as_on_ampere(), &table_on_two_sms()}) {
      setup.table = table;
      setups.push_back(setup);
    }
  }
  return setups;
}

inline PackedShape shape24(std::int64_t rows, std::int64_t cols,
                           PackedSide side = PackedSide::kRight,
                           PackedPattern pattern = PackedPattern::k24) {
  return {.pattern = pattern, .rows = rows, .cols = cols, .type = DType::kBf16, .side = side};
}

class Packed24Test : public TableTest {
 protected:
  void SetUp() override {
    TableTest::SetUp();
    if (packed_bytes(*GetParam().context(), shape24(64, 64)) == 0) GTEST_SKIP() << "packs no bf16";
  }
};

inline Values rounded_to_bf16(Values values) {
  for (double& value : values) value = to_float(to_bf16(static_cast<float>(value)));
  return values;
}

// Master weights: numbers that bf16 rounds, and every fourth one a special.
inline Values awkward_masters(Random& random, std::int64_t count) {
  Values values = unrounded(random, count);
  const Values specials = awkward_values(random, count);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i % 4 == i / 64 % 4) values[i] = specials[i];
  return values;
}

// Storage on a setup: aligned, with nothing behind its last byte, and rubbish in it at first.
class Storage24 {
 public:
  Storage24(const Setup& setup, const PackedShape& shape)
      : setup_(setup),
        shape_(shape),
        bytes_(packed_bytes(*setup.context(), shape)),
        storage_(Values(index(bytes_), 165.0), DType::kU8, 0, device_of(setup)) {}

  // P with its mask (empty: absent), both in P's orientation, handed over transposed or not.
  void pack(const Values& dense, const Values& mask, bool transpose, DType type,
            bool same_mask = false) {
    const std::int64_t R = shape_.rows, C = shape_.cols;
    const Shape shape = transpose ? Shape{C, R} : Shape{R, C};
    const Buffer dense_in = setup_.buffer(transpose ? transposed(dense, R, C) : dense, type);
    const Buffer mask_in = setup_.buffer(transpose ? transposed(mask, R, C) : mask, DType::kU8);
    pack_matrix(*setup_.context(), {.dense = dense_in.view(shape),
                                    .mask = optional_view(mask_in, shape),
                                    .shape = shape_,
                                    .storage = view(),
                                    .transpose = transpose,
                                    .same_mask = same_mask});
    wait(*setup_.context());  // the operands go
  }

  Values unpacked(DType type = DType::kBf16) const {
    const Buffer dense = setup_.buffer(rubbish(shape_.rows * shape_.cols), type);
    unpack_matrix(*setup_.context(),
                  {.packed = matrix(), .dense = dense.view({shape_.rows, shape_.cols})});
    return dense.values();
  }

  View view() const { return storage_.view({bytes_}); }
  Values bytes() const { return storage_.values(); }
  const PackedShape& shape() const { return shape_; }
  PackedMatrix matrix() const { return {shape_, view(), shape_.rows * shape_.cols / 2}; }

 private:
  static std::shared_ptr<const Context> device_of(const Setup& setup) {
    return setup.table->copy_in != nullptr ? setup.context() : nullptr;
  }

  Setup setup_;
  PackedShape shape_;
  std::int64_t bytes_;
  Buffer storage_;
};

// Two of every four neighbours of a row, of a short last group those that are there.
inline Values random_mask24(Random& random, std::int64_t rows, std::int64_t cols) {
  constexpr unsigned kPairs[] = {0b0011, 0b0101, 0b0110, 0b1001, 0b1010, 0b1100};
  const std::int64_t groups = (cols + 3) / 4;
  const Values picks = random.integers(rows * groups, 0, 5);
  Values mask(index(rows * cols));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < cols; ++c) {
      const unsigned pair = kPairs[static_cast<std::size_t>(picks[index(r * groups + c / 4)])];
      mask[index(r * cols + c)] = pair >> (c % 4) & 1u ? 1.0 : 0.0;
    }
  return mask;
}

// A pool over and over: data for large matrices. Its length should be prime.
inline Values repeated(const Values& pool, std::int64_t count) {
  Values values(index(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = pool[i % pool.size()];
  return values;
}

}  // namespace twill
