// SPDX-License-Identifier: Apache-2.0
// What a backend offers to be measured by, and training does not run: KernelTable::benches. nullptr means
// "not here".
#pragma once

namespace twill {

struct ActivationBackwardArgs;
struct ActivationForwardArgs;
struct Device;
struct GemmArgs;
struct PeerProductArgs;
struct PeerProductReport;
class Queue;

struct BenchTable {
  // The matrix library's own product with all its threads and none of our additions (bias, addend):
  // what gemm is measured against.
  void (*plain_gemm)(const GemmArgs&, const Device&, Queue&) = nullptr;
  // The vendor's own 2:4 product, what ours are measured against (ops/products/peer_product.h).
  PeerProductReport (*open_peer_product)(const PeerProductArgs&, const Device&, Queue&) = nullptr;
  // Bytes per second, read and written together, of the best of a few copies of random data that no
  // cache holds; 0 when there is no memory for them.
  double (*copy_bytes_per_second)(const Device&, Queue&) = nullptr;
  // Activations walked down the tokens of one channel after the other, as a kernel for channel-major
  // products would: the same bits. What that order costs on rows of tokens is for `bench gemm` to show.
  void (*activation_forward_by_channel)(const ActivationForwardArgs&, const Device&,
                                        Queue&) = nullptr;
  void (*activation_backward_by_channel)(const ActivationBackwardArgs&, const Device&,
                                         Queue&) = nullptr;
};

}  // namespace twill
