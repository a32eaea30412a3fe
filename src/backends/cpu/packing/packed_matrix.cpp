// SPDX-License-Identifier: Apache-2.0
// Packing on the cpu, into the lists of packed_format.h.
//
// A new mask takes three passes: kept entries, which decide on the chunk; lists, sorted in scratch;
// lists and values brought to where the lengths of all lists say. The same mask takes the values
// alone. A task is a group of 256 rows and a chunk. Inside, 16 rows at a time: those of a transposed
// source are turned over first, 11 KB that stay in the first cache, because their entries lie whole
// rows apart.
#include "ops/packing/packed_matrix.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <utility>

#include "backends/cpu/kernels.h"
#include "backends/cpu/packing/pack_simd.h"
#include "backends/cpu/packing/packed_format.h"
#include "backends/cpu/products/packed_simd.h"
#include "backends/cpu/queue.h"

namespace twill::cpu {
namespace {

constexpr std::int64_t kMaxChunk = 512;
constexpr std::int64_t kAlignment = 64;

// Columns per chunk. With many entries a chunk of the panel, 256 B per column, shall stay in the
// first cache; with few the sums, read and written once per chunk, cost more than the way to the
// second.
std::int64_t chunk_columns(std::int64_t kept, std::int64_t rows, std::int64_t cols) {
  const std::int64_t size = std::max<std::int64_t>(1, rows * cols);
  const std::int64_t wanted = kept * 3 >= size    ? 144
                              : kept * 7 >= size  ? 176
                              : kept * 16 >= size ? 256
                              : kept * 30 >= size ? 320
                                                  : kMaxChunk;
  const std::int64_t count = std::max<std::int64_t>(1, PackedGrid::pieces(cols, wanted));
  return std::max<std::int64_t>(1, PackedGrid::pieces(cols, count));
}

std::int64_t aligned(std::int64_t bytes) {
  return PackedGrid::pieces(bytes, kAlignment) * kAlignment;
}

std::int64_t kept_at_most(const PackedShape& shape) {
  const std::int64_t size = shape.rows * shape.cols;
  return shape.pattern == PackedPattern::kTransposable24 ? size / 2
                                                         : std::min(size, shape.max_kept);
}

// Fills in where everything lies and returns the bytes it takes. The fewer entries are kept, the
// fewer bytes: chunks do not get smaller.
std::int64_t lay_out(PackedHeader& header, std::int64_t num_columns) {
  const PackedGrid grid{header.rows, header.cols, header.chunk};
  const auto size = [](std::int64_t count, std::size_t bytes) {
    return aligned(count * static_cast<std::int64_t>(bytes));
  };
  header.groups_at = sizeof(PackedHeader);
  header.counts_at = header.groups_at + size(grid.groups() + 1, sizeof(GroupBegin));
  header.columns_at = header.counts_at +
                      size(grid.strips() * grid.chunks() * kCountsPerStrip, sizeof(std::uint16_t));
  header.values_at = header.columns_at + size(num_columns, sizeof(std::uint16_t));
  return header.values_at + size(header.kept, sizeof(float));
}

// P as it is found: element (row, col) lies at row row_stride + col col_stride.
struct Source {
  explicit Source(const PackMatrixArgs& args)
      : dense(args.dense.as<float>()),
        mask(args.mask ? args.mask.as<std::uint8_t>() : nullptr),
        row_stride(args.transpose ? 1 : args.dense.cols()),
        col_stride(args.transpose ? args.dense.cols() : 1) {}

  const float* dense;
  const std::uint8_t* mask;
  std::int64_t row_stride;
  std::int64_t col_stride;
};

// A strip inside a chunk: where it begins and how much of it is there.
struct StripSpan {
  std::int64_t row;
  std::int64_t col;
  std::int64_t rows;  // 4, or less at the end
  std::int64_t cols;
};

StripSpan span_of(const PackedGrid& grid, std::int64_t group, std::int64_t strip) {
  const std::int64_t block = group / grid.chunks(), chunk = group % grid.chunks();
  const std::int64_t row = block * kBlockRows + strip * kStripRows;
  return {row, chunk * grid.chunk, std::min(kStripRows, grid.rows - row), grid.cols_of(chunk)};
}

constexpr std::int64_t kBandStrips = 4;
constexpr std::int64_t kBandRows = kBandStrips * kStripRows;
using Tile = std::array<float, kBandRows * kMaxChunk>;

// Up to 16 rows of P inside a chunk, row by row: in the source, or turned over into a tile.
struct Band {
  Band(const Source& source, const StripSpan& span, Tile& tile)
      : x(source.dense + span.row * source.row_stride + span.col * source.col_stride),
        stride(source.row_stride) {
    if (source.col_stride == 1) return;
    stride = aligned(span.cols);
    transpose_floats(x, source.col_stride, span.cols, span.rows, tile.data(), stride);
    x = tile.data();
  }

  const float* x;
  std::int64_t stride;
};

// Calls visit(span, x, stride) for all strips of a group; row r of a strip is at x + r stride.
template <class Visit>
void visit_bands(const Source& source, const PackedGrid& grid, std::int64_t group,
                 const Visit& visit) {
  const std::int64_t strips = grid.strips_of(group / grid.chunks());
  Tile tile;
  for (std::int64_t first = 0; first < strips; first += kBandStrips) {
    StripSpan span = span_of(grid, group, first);
    span.rows = std::min(kBandRows, grid.rows - span.row);
    const Band band(source, span, tile);
    const std::int64_t end = std::min(first + kBandStrips, strips);
    for (std::int64_t strip = first; strip < end; ++strip)
      visit(span_of(grid, group, strip), band.x + (strip - first) * kStripRows * band.stride,
            band.stride);
  }
}

// The set of rows that keep each column of a strip; zeros behind the last.
using RowSets = std::array<std::uint8_t, kMaxChunk + kSetPadding>;

// Full strips are spelled out: the compiler makes vectors of them.
void find_masked_sets(const Source& source, const StripSpan& span, RowSets& sets) {
  const std::int64_t stride = source.row_stride;
  const std::uint8_t* mask = source.mask + span.row * stride + span.col * source.col_stride;
  const auto bit = [](std::uint8_t byte, int row) { return (byte != 0 ? 1u : 0u) << row; };
  const bool is_full = span.rows == kStripRows && source.col_stride == 1;
  for (std::int64_t c = 0; c < span.cols && is_full; ++c)
    sets[static_cast<std::size_t>(c)] =
        static_cast<std::uint8_t>(bit(mask[c], 0) | bit(mask[stride + c], 1) |
                                  bit(mask[2 * stride + c], 2) | bit(mask[3 * stride + c], 3));
  for (std::int64_t c = 0; c < span.cols && !is_full; ++c) {
    unsigned set = 0;
    for (int row = 0; row < span.rows; ++row)
      set |= bit(mask[row * stride + c * source.col_stride], row);
    sets[static_cast<std::size_t>(c)] = static_cast<std::uint8_t>(set);
  }
}

// Where a set's list stands in kRowSets; the empty set has none.
constexpr std::array<std::uint8_t, 16> kListOfSet = [] {
  std::array<std::uint8_t, 16> list{};
  list[0] = static_cast<std::uint8_t>(kRowSets.size());
  for (std::size_t i = 0; i < kRowSets.size(); ++i)
    list[kRowSets[i]] = static_cast<std::uint8_t>(i);
  return list;
}();

// The columns of one strip, sorted into lists of these lengths. Returns their end.
std::uint16_t* sort_columns(const RowSets& sets, std::int64_t cols, const std::uint16_t* counts,
                            std::uint16_t* columns) {
  std::array<std::uint16_t, kMaxChunk> of_no_row;
  std::array<std::uint16_t*, kRowSets.size() + 1> next;
  for (std::size_t i = 0; i < kRowSets.size(); ++i) {
    next[i] = columns;
    columns += counts[i];
  }
  next[kRowSets.size()] = of_no_row.data();
  for (std::int64_t c = 0; c < cols; ++c)
    *next[kListOfSet[sets[static_cast<std::size_t>(c)]]]++ = static_cast<std::uint16_t>(c);
  return columns;
}

// The lists of a group, one behind the other, their lengths, and in `size` how many columns and
// values they are.
void sort_group(const Source& source, const PackedStorage<std::byte>& storage, std::int64_t group,
                std::uint16_t* columns, GroupBegin& size) {
  const PackedGrid grid = storage.grid();
  std::uint16_t* counts = storage.counts(group / grid.chunks(), group % grid.chunks());
  size = {};
  const auto sort = [&](const StripSpan& span, RowSets& sets) {
    std::fill_n(sets.begin() + span.cols, kSetPadding, std::uint8_t{0});
    std::uint16_t of_set[16];
    count_sets(sets.data(), span.cols, of_set);
    for (std::size_t i = 0; i < kRowSets.size(); ++i) {
      counts[i] = of_set[kRowSets[i]];
      size.column += counts[i];
      size.value += counts[i] * std::popcount(kRowSets[i]);
    }
    counts[kRowSets.size()] = 0;
    columns = sort_columns(sets, span.cols, counts, columns);
    counts += kCountsPerStrip;
  };
  RowSets sets;
  if (source.mask != nullptr) {
    for (std::int64_t strip = 0; strip < grid.strips_of(group / grid.chunks()); ++strip) {
      const StripSpan span = span_of(grid, group, strip);
      find_masked_sets(source, span, sets);
      sort(span, sets);
    }
    return;
  }
  visit_bands(source, grid, group, [&](const StripSpan& span, const float* x, std::int64_t stride) {
    find_sets(x, stride, span.rows, span.cols, sets.data());
    sort(span, sets);
  });
}

// Calls visit(value, row, column) for the entries of one list, then of all.
template <unsigned kSet, class Lists, class Visit>
void visit_list(unsigned count, Lists& at, const Visit& visit) {
  for (unsigned i = 0; i < count; ++i, ++at.columns)
    for (int row = 0; row < kStripRows; ++row)
      if ((kSet >> row & 1u) != 0) visit(*at.values++, row, *at.columns);
}

template <class Lists, class Visit, std::size_t... kList>
void visit_strip(Lists& at, const Visit& visit, std::index_sequence<kList...>) {
  (visit_list<kRowSets[kList]>(at.counts[kList], at, visit), ...);
  at.counts += kCountsPerStrip;
}

// Calls visit(value, row, column) for every entry of a group, in the order of the storage.
template <class Byte, class Visit>
void visit_group(const PackedStorage<Byte>& storage, std::int64_t group, const Visit& visit) {
  const PackedGrid grid = storage.grid();
  auto at = storage.group(group / grid.chunks(), group % grid.chunks());
  const std::int64_t strips = at.strips;
  for (std::int64_t strip = 0; strip < strips; ++strip) {
    const StripSpan span = span_of(grid, group, strip);
    visit_strip(
        at,
        [&](auto& value, int row, std::int64_t c) { visit(value, span.row + row, span.col + c); },
        std::make_index_sequence<kRowSets.size()>());
  }
}

void copy_group(const Source& source, const PackedStorage<std::byte>& storage, std::int64_t group) {
  const PackedGrid grid = storage.grid();
  auto at = storage.group(group / grid.chunks(), group % grid.chunks());
  visit_bands(source, grid, group, [&](const StripSpan&, const float* x, std::int64_t stride) {
    visit_strip(
        at,
        [&](float& value, int row, std::int64_t c) {
          std::memcpy(&value, x + row * stride + c, sizeof value);
        },
        std::make_index_sequence<kRowSets.size()>());
  });
}

std::int64_t count_kept(const PackMatrixArgs& args, Queue& queue) {
  constexpr std::int64_t kPiece = 32768;
  std::atomic<std::int64_t> kept = 0;  // integers: their order is free
  run_pieces(queue, args.dense.num_elements(), kPiece, [&](std::int64_t begin, std::int64_t end) {
    if (!args.mask) {
      kept += count_kept_floats(args.dense.as<float>() + begin, end - begin);
      return;
    }
    const std::uint8_t* mask = args.mask.as<std::uint8_t>();
    kept += end - begin - std::count(mask + begin, mask + end, std::uint8_t{0});
  });
  return kept;
}

// Turns the numbers of columns and values of each group into where they begin.
GroupBegin add_up(GroupBegin* groups, std::int64_t num_groups) {
  GroupBegin sum{};
  for (std::int64_t i = 0; i < num_groups; ++i) {
    const GroupBegin own = std::exchange(groups[i], sum);
    sum = {sum.column + own.column, sum.value + own.value};
  }
  return groups[num_groups] = sum;
}

void pack_lists(const PackMatrixArgs& args, const Source& source, Queue& queue) {
  const PackedStorage<std::byte> storage(args.storage.bytes());
  PackedHeader& header = storage.header();
  const std::int64_t rows = args.shape.rows, cols = args.shape.cols;
  const std::int64_t kept = count_kept(args, queue);
  TWILL_CHECK(kept <= kept_at_most(args.shape), "a mask keeps more than its packed shape allows");
  header = {.rows = rows, .cols = cols, .chunk = chunk_columns(kept, rows, cols), .kept = kept};
  lay_out(header, 0);
  const PackedGrid grid = storage.grid();
  GroupBegin* groups = storage.groups();
  const std::int64_t num_groups = grid.groups();
  // Lists of all groups, each with room for every column of its strips.
  const std::int64_t room = grid.strips() * grid.chunks() * grid.chunk;
  auto* sorted =
      reinterpret_cast<std::uint16_t*>(cpu_queue(queue).packed_scratch().take(room / 2 + 1));
  const auto sorted_at = [&](std::int64_t group) {
    return sorted + grid.first_strip(group / grid.chunks(), group % grid.chunks()) * grid.chunk;
  };
  run_tasks(queue, num_groups, [&](std::int64_t group, int) {
    sort_group(source, storage, group, sorted_at(group), groups[group]);
  });
  const GroupBegin total = add_up(groups, num_groups);
  TWILL_CHECK(lay_out(header, total.column) <= args.storage.num_bytes(),
              "packed storage too small");
  run_tasks(queue, num_groups, [&](std::int64_t group, int) {
    const auto lists = storage.group(group / grid.chunks(), group % grid.chunks());
    std::copy_n(sorted_at(group), groups[group + 1].column - groups[group].column, lists.columns);
    copy_group(source, storage, group);
  });
}

}  // namespace

std::int64_t packed_bytes(const PackedShape& shape, const Device&) {
  const std::int64_t kept = kept_at_most(shape);
  PackedHeader header{.rows = shape.rows,
                      .cols = shape.cols,
                      .chunk = chunk_columns(kept, shape.rows, shape.cols),
                      .kept = kept};
  const std::int64_t strips = PackedGrid::pieces(shape.rows, kStripRows);
  return lay_out(header, std::min(kept, strips * shape.cols));
}

void pack_matrix(const PackMatrixArgs& args, const Device&, Queue& queue) {
  const Source source(args);
  if (!args.same_mask) return pack_lists(args, source, queue);
  const PackedStorage<std::byte> storage(args.storage.bytes());
  run_tasks(queue, storage.grid().groups(),
            [&](std::int64_t group, int) { copy_group(source, storage, group); });
}

void unpack_matrix(const UnpackMatrixArgs& args, const Device&, Queue& queue) {
  const PackedStorage<const std::byte> storage(args.packed.storage.bytes());
  const PackedGrid grid = storage.grid();
  float* dense = args.dense.as<float>();
  run_tasks(queue, grid.groups(), [&](std::int64_t group, int) {
    const std::int64_t strips = grid.strips_of(group / grid.chunks());
    for (std::int64_t strip = 0; strip < strips; ++strip) {
      const StripSpan span = span_of(grid, group, strip);
      for (std::int64_t row = span.row; row < span.row + span.rows; ++row)
        std::fill_n(dense + row * grid.cols + span.col, span.cols, 0.0f);
    }
    visit_group(storage, group, [&](const float& value, std::int64_t row, std::int64_t col) {
      std::memcpy(dense + row * grid.cols + col, &value, sizeof value);
    });
  });
}

}  // namespace twill::cpu
