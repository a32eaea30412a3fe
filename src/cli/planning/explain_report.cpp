// SPDX-License-Identifier: Apache-2.0
#include "cli/planning/explain_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/planning/plan_summary.h"

namespace twill::cli {
namespace {

bool runs_packed(const PlanEntry& entry, const std::string& product) {
  if (!entry.on) return false;
  if (product == "forward") return entry.packs_forward();
  if (product == "dgrad") return entry.packs_dgrad();
  return product == "wgrad" && entry.packs_wgrad();
}

const NamedProduct* find(const std::vector<NamedProduct>& products, const char* name) {
  const auto found = std::ranges::find(products, name, &NamedProduct::product);
  return found == products.end() ? nullptr : &*found;
}

// Of a product that could leave zeros out and does not: what was measured of it.
std::string why_dense(const PlanEntry& entry, const std::string& product) {
  if (!is_measured(entry)) return {};
  const auto of = [&](const ProductSeconds& seconds) {
    if (product == "forward") return seconds.forward;
    return product == "dgrad" ? seconds.dgrad : seconds.wgrad;
  };
  const double packed = of(entry.packed), dense = of(entry.dense);
  if (!entry.on && packed < dense)
    return fmt::format("{:.3f} ms for {:.3f}, and its upkeep costs more than all of them gain",
                       1e3 * packed, 1e3 * dense);
  if (packed == dense) return {};
  return fmt::format("not quicker by enough: {:.3f} ms for {:.3f}", 1e3 * packed, 1e3 * dense);
}

std::string line(const char* product, const char* form, bool runs, const std::string& text) {
  return fmt::format("  {:<9}{:<2} {:<8}{}\n", product, runs ? "->" : "", form, text);
}

std::string product_lines(const ExplainedSite& site, const char* name) {
  const NamedProduct *dense = find(site.dense, name), *packed = find(site.packed, name);
  if (dense == nullptr) return {};
  const bool is_packed = packed != nullptr && packed->verdict.kernel != dense->verdict.kernel;
  const bool runs = is_packed && runs_packed(site.entry, name);
  std::string text = line(name, "dense", !runs, kernel_text(dense->verdict));
  if (!is_packed) return text;
  text += line("", "packed", runs, kernel_text(packed->verdict));
  const std::string why = runs ? "" : why_dense(site.entry, name);
  return why.empty() ? text : text + fmt::format("{:22}{}\n", "", why);
}

JsonArray products_json(const std::vector<NamedProduct>& products) {
  JsonArray array;
  for (const NamedProduct& one : products)
    array.emplace_back(JsonObject{{"product", one.product},
                                  {"runs", one.verdict.runs},
                                  {"kernel", one.verdict.kernel},
                                  {"reason", one.verdict.reason}});
  return array;
}

}  // namespace

JsonArray json_of(const std::vector<ExplainedSite>& sites) {
  JsonArray array;
  for (const ExplainedSite& site : sites)
    array.emplace_back(JsonObject{{"phase", site.phase},
                                  {"site", site.entry.site},
                                  {"outputs", site.entry.outputs},
                                  {"inputs", site.entry.inputs},
                                  {"on", site.entry.on},
                                  {"dense", products_json(site.dense)},
                                  {"packed", products_json(site.packed)},
                                  {"nothing_packed_because", site.unpacked_reason}});
  return array;
}

std::string kernel_text(const Verdict& verdict) {
  if (!verdict.runs) return "declined: " + verdict.reason;
  return verdict.reason.empty() ? verdict.kernel
                                : fmt::format("{} ({})", verdict.kernel, verdict.reason);
}

std::string explanation(const std::vector<ExplainedSite>& sites) {
  std::string text = "\nkernels, an arrow at what the plan runs\n";
  for (const ExplainedSite& site : sites) {
    text += fmt::format("phase {}, {}, {} x {}{}\n", site.phase, site.entry.site,
                        site.entry.outputs, site.entry.inputs, site.entry.on ? "" : ", off");
    for (const char* name : {"forward", "dgrad", "wgrad"}) text += product_lines(site, name);
    if (!site.unpacked_reason.empty())
      text += fmt::format("  nothing is packed: {}\n", site.unpacked_reason);
  }
  return text;
}

}  // namespace twill::cli
