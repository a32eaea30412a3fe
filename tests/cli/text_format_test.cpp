// SPDX-License-Identifier: Apache-2.0
#include "cli/screen/text_format.h"

#include <gtest/gtest.h>

namespace twill::cli {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

TEST(FormatMemory, OfADenseRunIsATableAndItsSum) {
  EXPECT_EQ(format_memory({{"weights", 2 * kMiB}, {"activations", 3 * kMiB / 2}}),
            "memory\n"
            "  weights                  2.0 MiB\n"
            "  activations              1.5 MiB\n"
            "  in all                   3.5 MiB\n");
}

TEST(FormatMemory, OfASparseRunSaysWhatIsAdded) {
  EXPECT_EQ(format_memory({{"weights", 2 * kMiB}, {"workspace", 5 * kMiB}, {"sparsity", kMiB}},
                          {{"weights", 2 * kMiB}, {"workspace", 4 * kMiB}}),
            "memory                               against dense\n"
            "  weights                  2.0 MiB\n"
            "  workspace                5.0 MiB        +1.0 MiB\n"
            "  sparsity                 1.0 MiB        +1.0 MiB\n"
            "  in all                   8.0 MiB        +2.0 MiB\n"
            "  against dense: 2.0 MiB added, nothing saved\n");
}

// Also a region that is gone altogether.
TEST(FormatMemory, OfASparseRunSaysWhatIsSaved) {
  EXPECT_EQ(format_memory({{"weights", kMiB}, {"packed operands", 3 * kMiB}},
                          {{"weights", 2 * kMiB}, {"operands", 4 * kMiB}}),
            "memory                               against dense\n"
            "  weights                  1.0 MiB        -1.0 MiB\n"
            "  packed operands          3.0 MiB        +3.0 MiB\n"
            "  operands                     0 B        -4.0 MiB\n"
            "  in all                   4.0 MiB        -2.0 MiB\n"
            "  against dense: 3.0 MiB added, 5.0 MiB saved\n");
}

}  // namespace
}  // namespace twill::cli
