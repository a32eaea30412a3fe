// SPDX-License-Identifier: Apache-2.0
#include "train/run/facts_file.h"

#include <chrono>
#include <ctime>
#include <optional>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/build_facts.h"
#include "base/log.h"
#include "base/machine.h"
#include "io/atomic_file.h"
#include "io/config/config_json.h"
#include "twill/version.h"

namespace twill {
namespace {

constexpr const char* kFile = "facts.json";
constexpr const char* kResumes = "resumes";

// "2026-03-01T09:30:00Z"
std::string now_text() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now));
}

JsonValue text_or_null(std::string text) {
  return text.empty() ? JsonValue() : JsonValue(std::move(text));
}

JsonObject program() {
  const BuildFacts& build = build_facts();
  return {{"version", kVersion},
          {"commit", std::string(build.commit)},
          {"compiler", std::string(build.compiler)},
          {"build", std::string(build.kind)}};
}

// The GPU that trains; nothing where none does.
JsonValue gpu(const Context& context) {
  const auto find = context.kernels().find_device;
  if (find == nullptr) return {};
  Device device;
  return JsonObject{{"name", find(context.device().index, device).text},
                    {"driver", text_or_null(nvidia_driver_name())}};
}

JsonObject machine(const Context& context) {
  return {{"cpu", text_or_null(cpu_name())},
          {"processors", num_processors()},
          {"memory_bytes", memory_bytes()},
          {"gpu", gpu(context)},
          {"system", text_or_null(system_name())}};
}

// Instruction sets and libraries stand in the words of `twill info`.
JsonObject backend(const Context& context) {
  return {{"name", context.kernels().name},
          {"threads", context.device().num_threads},
          {"uses", context.kernels().describe()},
          {"host_uses", cpu_table().describe()}};
}

JsonArray sources(const std::vector<SourceFacts>& all) {
  JsonArray list;
  for (const SourceFacts& source : all)
    list.emplace_back(JsonObject{{"name", source.name},
                                 {"tokens", source.tokens},
                                 {"share", source.share},
                                 {"epochs", source.epochs}});
  return list;
}

JsonObject data(const KnownFacts& known) {
  return {{"train_tokens", known.run.train_tokens},
          {"validation_tokens", known.run.validation_tokens},
          {"validated_by", known.run.validated_by},
          {"notes", JsonArray(known.run.data_notes.begin(), known.run.data_notes.end())},
          {"hash", known.config.data.hash},
          {"sources", sources(known.run.sources)}};
}

JsonValue memory(const std::vector<MemoryLine>& table) {
  if (table.empty()) return {};
  JsonObject regions;
  for (const MemoryLine& line : table) regions.emplace_back(line.region, line.bytes);
  return regions;
}

JsonObject process_facts(const KnownFacts& known) {
  return {{"time", now_text()},
          {"arguments", JsonArray(known.arguments.begin(), known.arguments.end())},
          {"twill", program()},
          {"machine", machine(known.context)},
          {"backend", backend(known.context)}};
}

JsonObject run_facts(const KnownFacts& known) {
  return {{"parameters", known.run.num_parameters},
          {"data", data(known)},
          {"memory_bytes", memory(known.run.memory)},
          {"dense_memory_bytes", memory(known.run.dense_memory)},
          {"config", config_json(known.config)},
          {"plan", known.plan == nullptr ? JsonValue() : config_json(*known.plan)},
          {"runs", text_or_null(known.run.runs)}};
}

JsonObject facts(const KnownFacts& known, JsonValue start) {
  JsonObject all{{"start", std::move(start)}};
  for (auto& member : run_facts(known)) all.push_back(std::move(member));
  all.emplace_back(kResumes, JsonArray());
  return all;
}

std::optional<JsonObject> read_facts(const RunFolder& folder) {
  if (!folder.held().has(kFile)) return std::nullopt;
  const std::string path = folder.facts_file();
  try {
    const JsonValue value = parse_json_value(read_file(folder.held(), kFile));
    if (const JsonObject* members = value.object()) return *members;
    log_warning(fmt::format("{} is no JSON object; it is written anew", path));
  } catch (const Error& problem) {
    log_warning(fmt::format("{}: {}; it is written anew", path, problem.what()));
  }
  return std::nullopt;
}

// The list of resumes so far, at the end of the file.
JsonArray take_resumes(JsonObject& facts) {
  JsonArray resumes;
  std::erase_if(facts, [&](const auto& member) {
    if (member.first != kResumes) return false;
    if (const JsonArray* list = member.second.array()) resumes = *list;
    return true;
  });
  return resumes;
}

}  // namespace

void write_facts(RunFolder& folder, const KnownFacts& known) {
  folder.write(kFile, to_json(facts(known, process_facts(known))));
}

void add_resume(RunFolder& folder, const KnownFacts& known, std::int64_t step) {
  const std::optional<JsonObject> before = read_facts(folder);
  JsonObject all = before ? *before : facts(known, JsonValue());
  JsonArray resumes = take_resumes(all);
  JsonObject resume = process_facts(known);
  resume.emplace(resume.begin(), "step", step);
  resumes.emplace_back(std::move(resume));
  all.emplace_back(kResumes, std::move(resumes));
  folder.write(kFile, to_json(all));
}

}  // namespace twill
