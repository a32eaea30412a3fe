// SPDX-License-Identifier: Apache-2.0
// Clusters of neurons that fire together, all of the same size: balanced spherical k-means of the
// rows of the first FFN matrix.
//
// Rows and centroids are directions. A round assigns neurons in order of their margin, the cosine to
// the best centroid less that to the second best: those with most to lose come first. A neuron
// goes to the best centroid with room left (f / E places each). Then a centroid becomes the
// direction of the mean of its members. Equal margins fall by the lowest neuron, equal cosines by
// the lowest cluster. One thread, f64 sums in index order: the same clusters everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/view.h"

namespace twill {

struct NeuronClusters {
  std::vector<std::int32_t> cluster;  // of every neuron, in [0, E)
  std::vector<float> centroids;       // (E, d), length 1
};

struct ClusterOptions {
  std::int64_t num_clusters = 2;  // E
  std::int64_t num_rounds = 10;   // fewer when nothing changes any more
  std::uint64_t seed = 0;
  std::uint32_t layer = 0;                // draws its own first centroids
  std::span<const float> centroids = {};  // (E, d) to start from, instead of drawing
};

// `weight` (f, d) f32, f a multiple of E. First centroids are drawn as k-means++ does: each new one
// is a neuron, with a chance in proportion to 1 - cosine to the nearest one drawn before it.
NeuronClusters cluster_neurons(const ConstView& weight, const ClusterOptions& options);

// order[p] = the neuron at position p: every window of 4 E positions holds four neurons of each
// cluster (fewer at the end), clusters side by side, in index order within a cluster.
std::vector<std::int32_t> interleaved_order(std::span<const std::int32_t> cluster,
                                            std::int64_t num_clusters);

}  // namespace twill
