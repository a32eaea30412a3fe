// SPDX-License-Identifier: Apache-2.0
#include "train/run/source_facts.h"

namespace twill {

std::vector<SourceFacts> source_facts(const TrainingData& data, const RunConfig& config) {
  const auto examples =
      static_cast<double>(config.train.steps * config.accumulation() * config.train.micro_batch);
  std::vector<SourceFacts> facts;
  for (const DataSourceFacts& source : data.sources)
    facts.push_back({.name = source.name,
                     .tokens = source.tokens,
                     .share = source.share,
                     .epochs = examples * source.share / static_cast<double>(source.examples)});
  return facts;
}

}  // namespace twill
