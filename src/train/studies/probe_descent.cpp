// SPDX-License-Identifier: Apache-2.0
#include "train/studies/probe_descent.h"

#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>

#include "base/require.h"
#include "ops/transfer.h"
#include "sparsity/recipe/scope.h"
#include "tensor/tensor.h"
#include "train/run/checkpoint.h"
#include "train/run/device_choice.h"
#include "train/run/frozen_projection.h"
#include "train/run/run_data.h"
#include "train/run/run_folder.h"
#include "train/run/training_run.h"
#include "train/step/schedule.h"
#include "train/step/step_targets.h"
#include "train/step/trainer.h"

namespace twill {
namespace {

// The projection that a recipe trains with: its first phase that has one.
const WeightsPart* projecting_part(const RecipeConfig& recipe) {
  for (const PhaseConfig& phase : recipe.phase)
    if (!phase.weights.is_dense() && !phase.weights.is_topology()) return &phase.weights;
  return nullptr;
}

struct ProbedParts {
  WeightsPart hard, soft;
};

ProbedParts parts_of(const DescentRequest& request, const RecipeConfig& recipe) {
  const WeightsPart* own = projecting_part(recipe);
  require(own != nullptr || !request.pattern.empty(),
          "{}: its recipe {} projects no weights; say which mask to probe with: --pattern 2:4 or "
          "--pattern 2:4-transposable",
          request.run, recipe.name);
  ProbedParts parts;
  if (own != nullptr) parts.hard = parts.soft = *own;
  if (!request.pattern.empty())
    parts.hard.pattern = find_word<WeightPattern>(request.pattern).value();
  parts.hard.projection = Projection::kHard;
  parts.soft.pattern = WeightPattern::k24;
  parts.soft.projection = Projection::kSoft;
  if (own == nullptr || !own->is_soft()) parts.soft.scale = SoftScale::kMinMse;
  return parts;
}

// A layer with the buffers that the probe puts into its seam.
struct ProbedLayer {
  SparseLayer layer;
  Tensor mask, projected, before;  // before: Ws in front of the update
};

class Probe {
 public:
  Probe(Trainer& trainer, const std::vector<std::string>& words) : trainer_(trainer) {
    for (LinearSeam* seam : layers_in_scope(trainer.builder(), words)) {
      if (seam->family == LayerFamily::kHead) continue;
      const Shape& shape = seam->weight->shape;
      ProbedLayer& probed = layers_.emplace_back();
      probed.mask = Tensor(DType::kU8, shape);
      probed.projected = Tensor(DType::kF32, shape);
      probed.before = Tensor(DType::kF32, shape);
      probed.layer = {
          .seam = seam, .mask = probed.mask.view(), .projected = probed.projected.view()};
    }
    for (const Parameter& parameter : trainer.builder().parameters())
      old_weights_.emplace_back(DType::kF32, parameter.shape);
  }

  // Steps under `part` from the trainer's state on.
  std::vector<DescentRow> run(const WeightsPart& part, std::int64_t steps) {
    part_ = part;
    steer();
    set_scales();
    project_anew();
    std::vector<DescentRow> rows;
    for (std::int64_t i = 0; i < steps; ++i) rows.push_back(step());
    return rows;
  }

 private:
  const Context& context() const { return trainer_.context(); }
  const RunConfig& config() const { return trainer_.config(); }

  // Every seam plain, those in scope on the probe's buffers.
  void steer() {
    for (LinearSeam& seam : trainer_.builder().linear_seams()) {
      seam.route.forward.operand = seam.route.dgrad.operand = {};
      seam.route.wgrad.sample = WgradSample::kDense;
      seam.route.set_rounding(Fp8Mode::kNone);
    }
    for (ProbedLayer& probed : layers_) {
      require_divisible(part_, *probed.layer.seam);
      Route& route = probed.layer.seam->route;
      route.forward.operand = route.dgrad.operand = dense(probed.layer.projected);
    }
  }

  // A run in a soft phase has its scales; else they are of the weights now.
  void set_scales() {
    const SparsityEngine& engine = trainer_.sparsity();
    Tensor sums(DType::kF64, {4});
    for (ProbedLayer& probed : layers_) {
      probed.layer.beta =
          part_.is_soft() ? soft_scale(context(), part_, probed.layer, sums.view()) : 1.0;
      if (!part_.is_soft() || !engine.phase().weights.is_soft()) continue;
      for (const SparseLayer& own : engine.layers())
        if (own.seam == probed.layer.seam && engine.in_scope(own)) probed.layer.beta = own.beta;
    }
  }

  void project_anew() {
    for (ProbedLayer& probed : layers_) {
      if (!part_.is_soft())
        choose_mask(context(), part_, *probed.layer.seam, probed.layer.weight(), probed.layer.mask);
      project(context(), part_, probed.layer);
    }
  }

  void project_frozen() {
    for (ProbedLayer& probed : layers_) {
      if (!part_.is_soft()) {
        project(context(), part_, probed.layer);
      } else {
        project_with_old_threshold(old_weight(*probed.layer.seam->weight), probed.layer.weight(),
                                   axis_of(part_.axis, *probed.layer.seam), probed.layer.beta,
                                   probed.layer.projected);
      }
    }
  }

  Pass pass_of(std::int64_t index) const {
    const std::int64_t first = trainer_.progress().step * config().accumulation();
    return {.context = context(),
            .batch = config().train.micro_batch,
            .time = config().sequence(),
            .training = true,
            .seed = static_cast<std::uint64_t>(config().train.seed),
            .micro_step = static_cast<std::uint32_t>(first + index),
            .accumulate = index > 0};
  }

  // The loss of the step's batch, one mean over its targets. `work(pass, scale)` computes a micro-batch
  // that the model has loaded.
  using Work = std::function<void(const Pass&, const LossScale&)>;
  double over_batch(const Work& work) {
    const std::int64_t rows = config().train.micro_batch, count = config().accumulation();
    BatchStorage storage(trainer_.data().layout(), count * rows);
    trainer_.data().fill(trainer_.progress().windows, storage.rows(0, count * rows));
    Model& model = trainer_.model();
    const StepTargets targets(context(), model, count, nullptr);
    const auto load = [&](std::int64_t index) {
      model.load(pass_of(index), storage.rows(index * rows, rows));
    };
    for (std::int64_t index = 0; index < count; ++index) {
      load(index);
      targets.add(pass_of(index), index == 0);
    }
    targets.finish(context());
    const View sum = trainer_.optimizer().loss_sum();
    for (std::int64_t index = 0; index < count; ++index) {
      load(index);
      work(pass_of(index), targets.scale());
      model.add_mean_loss(pass_of(index), targets.scale().count, sum, index > 0);
    }
    return host_values<double>(context(), sum)[0] / static_cast<double>(count);
  }

  double loss() {
    return over_batch(
        [this](const Pass& pass, const LossScale&) { trainer_.model().forward(pass); });
  }

  double loss_and_gradient() {
    return over_batch([this](const Pass& pass, const LossScale& scale) {
      trainer_.model().compute(pass, scale);
    });
  }

  ConstView old_weight(const Parameter& parameter) const {
    const auto& all = trainer_.builder().parameters();
    for (std::size_t i = 0; i < all.size(); ++i)
      if (&all[i] == &parameter) return old_weights_[i].view();
    return {};
  }

  void keep_old() {
    const auto& parameters = trainer_.builder().parameters();
    const auto copy = [](View to, ConstView from) {
      std::memcpy(to.bytes(), from.bytes(), static_cast<std::size_t>(from.num_bytes()));
    };
    for (std::size_t i = 0; i < parameters.size(); ++i)
      copy(old_weights_[i].view(), parameters[i].value);
    for (ProbedLayer& probed : layers_) copy(probed.before.view(), probed.layer.projected);
  }

  void update() {
    Optimizer& optimizer = trainer_.optimizer();
    Progress& progress = trainer_.progress();
    for (Parameter& parameter : trainer_.builder().parameters())
      parameter.update = {.freezes_second_moment = trainer_.sparsity().freezes_second_moments()};
    optimizer.apply(context(), {.lr = learning_rate(config().schedule, config().optimizer.lr,
                                                    progress.step + 1, config().train.steps),
                                .scale = optimizer.clip_scale(optimizer.gradient_norm(context())),
                                .update = ++progress.updates});
  }

  // Σ gradient (fresh - old).
  static double first_order(ConstView gradient, ConstView fresh, ConstView old) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < gradient.num_elements(); ++i)
      sum += static_cast<double>(gradient.as<float>()[i]) *
             (static_cast<double>(fresh.as<float>()[i]) - static_cast<double>(old.as<float>()[i]));
    return sum;
  }

  double predicted() const {
    double sum = 0.0;
    for (const Parameter& parameter : trainer_.builder().parameters())
      sum += first_order(parameter.gradient, parameter.value, old_weight(parameter));
    return sum;
  }

  // What the prediction becomes when projected layers count with what the products see.
  double along(double predicted) const {
    for (const ProbedLayer& probed : layers_) {
      const Parameter& weight = *probed.layer.seam->weight;
      predicted += first_order(weight.gradient, probed.layer.projected, probed.before.view()) -
                   first_order(weight.gradient, weight.value, old_weight(weight));
    }
    return predicted;
  }

  // Between the projection before the update and the one now.
  double flip_rate() const {
    double flips = 0.0, total = 0.0;
    for (const ProbedLayer& probed : layers_) {
      const float* now = probed.layer.projected.as<float>();
      const float* old = probed.before.view().as<float>();
      for (std::int64_t i = 0; i < probed.layer.num_weights(); ++i)
        flips += (now[i] != 0.0F) != (old[i] != 0.0F);
      total += static_cast<double>(probed.layer.num_weights());
    }
    return flips / total;
  }

  DescentRow step() {
    DescentRow row{.step = trainer_.progress().step + 1};
    row.loss = loss_and_gradient();
    keep_old();
    update();
    row.predicted = predicted();
    project_frozen();
    row.frozen = loss() - row.loss;
    project_anew();
    row.updated = loss() - row.loss;
    row.along = along(row.predicted);
    row.flip_rate = flip_rate();
    require(std::isfinite(row.loss + row.predicted + row.frozen + row.updated),
            "step {}: the loss is not finite under the {} projection", row.step,
            word_of(part_.projection));
    ++trainer_.progress().step;
    trainer_.progress().windows += config().accumulation() * config().train.micro_batch;
    return row;
  }

  Trainer& trainer_;
  WeightsPart part_;
  std::deque<ProbedLayer> layers_;
  std::deque<Tensor> old_weights_;
};

}  // namespace

double DescentSeries::mean(double DescentRow::*column) const {
  double sum = 0.0;
  for (const DescentRow& row : rows) sum += row.*column;
  return sum / static_cast<double>(rows.size());
}

DescentFit DescentSeries::fit(double DescentRow::*actual, double DescentRow::*prediction) const {
  const double mean_x = mean(prediction), mean_y = mean(actual);
  double xx = 0.0, yy = 0.0, xy = 0.0, down = 0.0, wrong = 0.0, error = 0.0;
  for (const DescentRow& row : rows) {
    const double x = row.*prediction, y = row.*actual;
    xx += (x - mean_x) * (x - mean_x);
    yy += (y - mean_y) * (y - mean_y);
    xy += (x - mean_x) * (y - mean_y);
    down += x < 0.0;
    wrong += x < 0.0 && y > 0.0;
    error += std::abs(y - x);
  }
  return {.mean = mean_y,
          .wrong = down > 0.0 ? wrong / down : 0.0,
          .correlation = xx > 0.0 && yy > 0.0 ? xy / std::sqrt(xx * yy) : 0.0,
          .error = error / static_cast<double>(rows.size())};
}

DescentProbe probe_descent(const DescentRequest& request) {
  const RunFolder folder = RunFolder::open(request.run, request.runs_dir);
  const std::string checkpoint = folder.require_checkpoint();
  require(imported_from(checkpoint).empty(),
          "{} was imported and has no optimizer state to take a step with", folder.path());
  RunConfig config = folder.read_config();
  const ProbedParts parts = parts_of(request, config.recipe);
  config.threads = request.threads;
  const RunSetup setup = set_up(folder, config);
  config = setup.config;
  const TrainingData data = open_run_data(config, setup.tokenizer.get());
  // The probe reads and sets weights where they are: on the host, whatever trained them.
  if (config.device != "reference") config.device = "cpu";
  config.train.precision = "auto";
  config.recipe.execution = Execution::kMasked;  // both projections on every layer in scope
  config.plan.clear();
  const Context context = open_context(config);
  Trainer trainer(context, config, data);
  trainer.begin();
  Probe probe(trainer, config.recipe.layers);
  DescentProbe result{.checkpoint = checkpoint, .series = {}};
  for (const WeightsPart& part : {parts.hard, parts.soft}) {
    load_checkpoint(checkpoint, trainer);
    result.series.push_back(
        {.projection = fmt::format("{} {}", word_of(part.projection), word_of(part.pattern)),
         .rows = probe.run(part, request.steps)});
  }
  return result;
}

}  // namespace twill
