// SPDX-License-Identifier: Apache-2.0
#include "base/machine.h"

#include <regex>
#include <string>

#include <gtest/gtest.h>

#include "base/build_facts.h"

namespace twill {
namespace {

TEST(Machine, IsDescribedByItsSystem) {
  EXPECT_GE(num_processors(), 1);
  EXPECT_GT(memory_bytes(), std::int64_t{1} << 28) << "more than 256 MiB";
  EXPECT_TRUE(system_name().starts_with("Linux ")) << system_name();
  EXPECT_EQ(cpu_name().find_first_of("\t\n:"), std::string::npos) << cpu_name();
}

TEST(BuildFacts, NameACommitOrSayThatThereIsNone) {
  const std::string commit(build_facts().commit);
  EXPECT_TRUE(std::regex_match(commit, std::regex("unknown|[0-9a-f]{12,40}( with changes)?")))
      << commit;
  EXPECT_TRUE(std::regex_match(std::string(build_facts().compiler), std::regex("\\w+ [\\d.]+")))
      << build_facts().compiler;
}

}  // namespace
}  // namespace twill
