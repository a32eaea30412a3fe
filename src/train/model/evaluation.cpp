// SPDX-License-Identifier: Apache-2.0
#include "train/model/evaluation.h"

#include <algorithm>

namespace twill {

double mean_loss(const Context& context, Model& model, const Data& data,
                 const EvaluationShape& shape, bool as_trained) {
  BatchStorage storage(data.layout(), shape.batch);
  double sum = 0.0, weights = 0.0;
  for (std::int64_t first = 0; first < data.size(); first += shape.batch) {
    const Batch batch = storage.rows(0, std::min(shape.batch, data.size() - first));
    data.fill(first, batch);
    const Pass pass{
        .context = context, .batch = batch.rows(), .time = shape.time, .as_trained = as_trained};
    const PassLoss loss = model.loss(pass, batch);
    // Every target counts alike. In sequences: a window of tokens weighs exactly 1.
    const double weight = loss.targets / static_cast<double>(shape.time);
    sum += weight * loss.mean;
    weights += weight;
  }
  return weights > 0.0 ? sum / weights : 0.0;
}

}  // namespace twill
