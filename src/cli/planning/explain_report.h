// SPDX-License-Identifier: Apache-2.0
// `twill plan --explain` in words.
#pragma once

#include <string>
#include <vector>

#include "io/json/json_value.h"
#include "sparsity/plan/explain_plan.h"

namespace twill::cli {

// By phase, site and product: the kernel of the dense form and of the packed one, an arrow at the one that the
// plan runs, and behind it why a quicker one declined.
std::string explanation(const std::vector<ExplainedSite>& sites);

// The same for programs: a list of sites, each with its products.
JsonArray json_of(const std::vector<ExplainedSite>& sites);

// "kernel", or "kernel (reason)".
std::string kernel_text(const Verdict& verdict);

}  // namespace twill::cli
