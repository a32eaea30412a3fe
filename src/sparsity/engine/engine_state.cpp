// SPDX-License-Identifier: Apache-2.0
// What a checkpoint holds of sparsity: masks, scales, topology, clusters, phase and alarms. A resumed
// run goes on with these bits; projections are computed again from them.
#include <cstdlib>

#include "base/require.h"
#include "sparsity/engine/engine.h"

namespace twill {
namespace {

using Texts = std::map<std::string, std::string>;

std::string text_of(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += fmt::format("{}{:a}", text.empty() ? "" : " ", value);
  return text;
}

const std::string& text_at(const Texts& texts, const std::string& key) {
  const auto found = texts.find(key);
  require(found != texts.end(), "the saved state of sparsity has no {}", key);
  return found->second;
}

std::vector<double> numbers_at(const Texts& texts, const std::string& key) {
  const std::string& text = text_at(texts, key);
  std::vector<double> values;
  const char* next = text.c_str();
  while (*next != '\0') {
    char* end = nullptr;
    values.push_back(std::strtod(next, &end));
    require(end != next, "the saved state of sparsity is damaged: {} = '{}'", key, text);
    next = end;
  }
  return values;
}

std::vector<double> numbers_at(const Texts& texts, const std::string& key, std::size_t count) {
  std::vector<double> values = numbers_at(texts, key);
  require(values.size() == count, "the saved state of sparsity is damaged: {} has {} numbers of {}",
          key, values.size(), count);
  return values;
}

}  // namespace

std::vector<SparsityEngine::StateTensor> SparsityEngine::state_tensors() const {
  std::vector<StateTensor> tensors;
  const auto add = [&](const std::string& name, View view) {
    if (view) tensors.push_back({name, view});
  };
  for (const SparseLayer& layer : layers_) add(layer.seam->name + ".mask", layer.mask);
  for (const SteeredFfn& ffn : activations_.ffns()) {
    const std::string& name = ffn.seam->name;
    add(name + ".neuron_order", ffn.neuron_order);
    add(name + ".clusters", ffn.clusters);
    add(name + ".centroids", ffn.centroids);
    add(name + ".dense_neurons", ffn.dense_neurons);
    add(name + ".fixed_order", ffn.fixed_order);
    add(name + ".nonzero", ffn.seam->nonzero);
  }
  return tensors;
}

Texts SparsityEngine::state_texts() const {
  Texts texts{
      {"phase", fmt::format("{} {} {}", clock_.index(), clock_.begin(), clock_.early_end())},
      {"prepared", fmt::to_string(prepared_)},
      {"topology", text_of({topology_.density()})},
      {"forced_dense", forced_dense_ ? "1" : "0"},
      {"interval_flips", text_of(interval_flips_)},
      {"moment_changes", text_of(moment_changes_)},
      {"alarm", alarm_.save()}};
  std::vector<double> scales, densities, ffns;
  for (const SparseLayer& layer : layers_) {
    scales.push_back(layer.beta);
    densities.push_back(layer.density);
  }
  for (const SteeredFfn& ffn : activations_.ffns())
    for (const std::int64_t value :
         {ffn.num_clusters, std::int64_t{ffn.has_dense}, ffn.seam->measured_tokens})
      ffns.push_back(static_cast<double>(value));
  texts["scales"] = text_of(scales);
  texts["densities"] = text_of(densities);
  const Flops& spent = account_.total();
  texts["flops"] =
      text_of({spent.spent, spent.dense, spent.spent_without_head, spent.dense_without_head});
  texts["ffns"] = text_of(ffns);
  return texts;
}

std::vector<Deployment> SparsityEngine::deployments() const {
  std::vector<Deployment> deployments;
  const WeightsPart& part = phase().weights;
  for (const SparseLayer& layer : layers_) {
    if (!layer.seam->forward) continue;
    const bool rows = axis_of(part.axis, *layer.seam) == GroupAxis::kWithinRow;
    deployments.push_back(
        {layer.seam->name,
         part.is_soft() ? fmt::format("soft-within-{} {:a}", rows ? "row" : "column", layer.beta)
                        : "mask"});
  }
  return deployments;
}

void SparsityEngine::restore(const Context& context, const Texts& texts) {
  const std::vector<double> at = numbers_at(texts, "phase", 3);
  clock_.restore(static_cast<std::int64_t>(at[0]), static_cast<std::int64_t>(at[1]),
                 static_cast<std::int64_t>(at[2]));
  prepared_ = static_cast<std::int64_t>(numbers_at(texts, "prepared", 1)[0]);
  topology_.restore(numbers_at(texts, "topology", 1)[0]);
  forced_dense_ = text_at(texts, "forced_dense") == "1";
  interval_flips_ = numbers_at(texts, "interval_flips", layers_.size());
  moment_changes_ = numbers_at(texts, "moment_changes");
  alarm_.restore(text_at(texts, "alarm"));
  const std::vector<double> scales = numbers_at(texts, "scales", layers_.size());
  const std::vector<double> densities = numbers_at(texts, "densities", layers_.size());
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].beta = scales[i];
    layers_[i].density = densities[i];
  }
  const std::vector<double> flops = numbers_at(texts, "flops", 4);
  account_ = FlopAccount({flops[0], flops[1], flops[2], flops[3]});
  const std::vector<double> ffns = numbers_at(texts, "ffns", 3 * activations_.ffns().size());
  for (std::size_t i = 0; i < activations_.ffns().size(); ++i) {
    SteeredFfn& ffn = activations_.ffns()[i];
    ffn.num_clusters = static_cast<std::int64_t>(ffns[3 * i]);
    ffn.has_dense = ffns[3 * i + 1] != 0.0;
    ffn.seam->measured_tokens = static_cast<std::int64_t>(ffns[3 * i + 2]);
  }
  for (SparseLayer& layer : layers_) layer.packed.forget_kept(layer);
  point_seams();
  if (activations_.exists()) activations_.apply(context, phase().activations, layers_that_are_on());
  point_packed_activations();
  project_all(context);
  masks_changed_ = true;
  pack_all(context);
}

}  // namespace twill
