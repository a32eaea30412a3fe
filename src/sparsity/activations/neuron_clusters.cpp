// SPDX-License-Identifier: Apache-2.0
#include "sparsity/activations/neuron_clusters.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/require.h"
#include "base/rng.h"

namespace twill {
namespace {

// (rows, d) directions in f64.
struct Directions {
  Directions(std::int64_t num_rows, std::int64_t width)
      : rows(num_rows), d(width), values(static_cast<std::size_t>(num_rows * width)) {}

  double* row(std::int64_t i) { return values.data() + i * d; }
  const double* row(std::int64_t i) const { return values.data() + i * d; }

  std::int64_t rows, d;
  std::vector<double> values;
};

double dot(const double* a, const double* b, std::int64_t d) {
  double sum = 0.0;
  for (std::int64_t k = 0; k < d; ++k) sum += a[k] * b[k];
  return sum;
}

// A row of zeros, or with a number that is none, has no direction and stays zero.
void normalise(double* row, std::int64_t d) {
  const double length = std::sqrt(dot(row, row, d));
  const bool has_direction = std::isfinite(length) && length > 0.0;
  for (std::int64_t k = 0; k < d; ++k) row[k] = has_direction ? row[k] / length : 0.0;
}

Directions directions_of(const float* values, std::int64_t rows, std::int64_t d) {
  Directions result(rows, d);
  std::copy_n(values, rows * d, result.values.begin());
  for (std::int64_t i = 0; i < rows; ++i) normalise(result.row(i), d);
  return result;
}

// The neuron at which the running sum of the chances passes `word` / 2^32 of the whole.
std::int64_t draw(const std::vector<double>& chances, std::uint32_t word) {
  const double sum = std::accumulate(chances.begin(), chances.end(), 0.0);
  const double wanted = sum * (static_cast<double>(word) * 0x1p-32);
  double running = 0.0;
  for (std::size_t i = 0; i < chances.size(); ++i) {
    running += chances[i];
    if (running > wanted) return static_cast<std::int64_t>(i);
  }
  return 0;  // no chance anywhere: all neurons point the same way
}

Directions first_centroids(const Directions& neurons, const ClusterOptions& options) {
  Directions centroids(options.num_clusters, neurons.d);
  std::vector<double> chances(static_cast<std::size_t>(neurons.rows), 1.0);
  for (std::int64_t e = 0; e < centroids.rows; ++e) {
    const std::uint32_t word = random_bits(options.seed, Purpose::kCluster, options.layer,
                                           static_cast<std::uint64_t>(e))[0];
    std::copy_n(neurons.row(draw(chances, word)), neurons.d, centroids.row(e));
    for (std::int64_t i = 0; i < neurons.rows; ++i) {
      const double distance = std::max(0.0, 1.0 - dot(neurons.row(i), centroids.row(e), neurons.d));
      double& chance = chances[static_cast<std::size_t>(i)];
      chance = e == 0 ? distance : std::min(chance, distance);
    }
  }
  return centroids;
}

double margin_of(const double* cosines, std::int64_t E) {
  if (E == 1) return 0.0;
  double best = cosines[0], second = cosines[1];
  if (second > best) std::swap(best, second);
  for (std::int64_t e = 2; e < E; ++e) {
    second = std::max(second, std::min(best, cosines[e]));
    best = std::max(best, cosines[e]);
  }
  return best - second;
}

std::int64_t best_with_room(const double* cosines, const std::vector<std::int64_t>& room) {
  std::int64_t best = -1;
  for (std::size_t e = 0; e < room.size(); ++e)
    if (room[e] > 0 && (best < 0 || cosines[e] > cosines[best]))
      best = static_cast<std::int64_t>(e);
  return best;
}

std::vector<std::int32_t> assign(const Directions& neurons, const Directions& centroids) {
  const std::int64_t f = neurons.rows, E = centroids.rows;
  Directions cosines(f, E);
  std::vector<double> margins;
  for (std::int64_t i = 0; i < f; ++i) {
    for (std::int64_t e = 0; e < E; ++e)
      cosines.row(i)[e] = dot(neurons.row(i), centroids.row(e), neurons.d);
    margins.push_back(margin_of(cosines.row(i), E));
  }
  std::vector<std::size_t> order(static_cast<std::size_t>(f));
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return margins[a] > margins[b]; });

  std::vector<std::int64_t> room(static_cast<std::size_t>(E), f / E);
  std::vector<std::int32_t> cluster(static_cast<std::size_t>(f));
  for (const std::size_t i : order) {
    const std::int64_t e = best_with_room(cosines.row(static_cast<std::int64_t>(i)), room);
    --room[static_cast<std::size_t>(e)];
    cluster[i] = static_cast<std::int32_t>(e);
  }
  return cluster;
}

// A cluster whose members cancel keeps its centroid.
void move_centroids(const Directions& neurons, const std::vector<std::int32_t>& cluster,
                    Directions& centroids) {
  Directions sums(centroids.rows, centroids.d);
  for (std::int64_t i = 0; i < neurons.rows; ++i) {
    double* sum = sums.row(cluster[static_cast<std::size_t>(i)]);
    for (std::int64_t k = 0; k < neurons.d; ++k) sum[k] += neurons.row(i)[k];
  }
  for (std::int64_t e = 0; e < sums.rows; ++e) {
    normalise(sums.row(e), sums.d);
    if (dot(sums.row(e), sums.row(e), sums.d) > 0.0)
      std::copy_n(sums.row(e), sums.d, centroids.row(e));
  }
}

void require_valid(const ConstView& weight, const ClusterOptions& options) {
  require(weight.shape().rank() == 2 && weight.dtype() == DType::kF32,
          "[cluster_neurons] weight must be f32 of shape (f, d), got {} of shape {}",
          name_of(weight.dtype()), to_string(weight.shape()));
  const std::int64_t f = weight.shape()[0], d = weight.shape()[1], E = options.num_clusters;
  require(E >= 1 && f % E == 0,
          "[cluster_neurons] {} neurons must be a multiple of the number of clusters, got {}", f,
          E);
  require(options.centroids.empty() || static_cast<std::int64_t>(options.centroids.size()) == E * d,
          "[cluster_neurons] centroids must have {} elements, got {}", E * d,
          options.centroids.size());
}

}  // namespace

NeuronClusters cluster_neurons(const ConstView& weight, const ClusterOptions& options) {
  require_valid(weight, options);
  const std::int64_t d = weight.shape()[1];
  const Directions neurons = directions_of(weight.as<float>(), weight.shape()[0], d);
  Directions centroids = options.centroids.empty()
                             ? first_centroids(neurons, options)
                             : directions_of(options.centroids.data(), options.num_clusters, d);
  NeuronClusters result;
  for (std::int64_t round = 0; round < std::max<std::int64_t>(1, options.num_rounds); ++round) {
    std::vector<std::int32_t> cluster = assign(neurons, centroids);
    if (cluster == result.cluster) break;
    result.cluster = std::move(cluster);
    move_centroids(neurons, result.cluster, centroids);
  }
  result.centroids.assign(centroids.values.begin(), centroids.values.end());
  return result;
}

std::vector<std::int32_t> interleaved_order(std::span<const std::int32_t> cluster,
                                            std::int64_t num_clusters) {
  std::vector<std::vector<std::int32_t>> members(static_cast<std::size_t>(num_clusters));
  for (std::size_t i = 0; i < cluster.size(); ++i) {
    require(cluster[i] >= 0 && cluster[i] < num_clusters,
            "[interleaved_order] cluster[{}] must be in [0, {}), got {}", i, num_clusters,
            cluster[i]);
    members[static_cast<std::size_t>(cluster[i])].push_back(static_cast<std::int32_t>(i));
  }
  std::vector<std::int32_t> order;
  for (std::size_t begin = 0; order.size() < cluster.size(); begin += 4)
    for (const std::vector<std::int32_t>& all : members)
      for (std::size_t k = begin; k < std::min(begin + 4, all.size()); ++k) order.push_back(all[k]);
  return order;
}

}  // namespace twill
