// SPDX-License-Identifier: Apache-2.0
// Which function of device/activation_functions.cuh an activation of ops/layers/activation.h is.
#pragma once

#include <type_traits>

#include "backends/cuda/device/layers/activation_functions.cuh"
#include "ops/layers/activation.h"

namespace twill::cuda {

// Calls body(function for results of type T, whether it is gated).
template <class T, class Body>
void by_kind(Activation kind, const Body& body) {
  switch (kind) {
    case Activation::kGelu:
      return body(Gelu<T>(), std::false_type());
    case Activation::kGeluTanh:
      return body(GeluTanh<T>(), std::false_type());
    case Activation::kRelu2:
      return body(Relu2<T>(), std::false_type());
    case Activation::kSwiglu:
      return body(Swish<T>(), std::true_type());
    case Activation::kGeglu:
      return body(Gelu<T>(), std::true_type());
    case Activation::kGegluTanh:
      return body(GeluTanh<T>(), std::true_type());
  }
}

}  // namespace twill::cuda
