// SPDX-License-Identifier: Apache-2.0
// Copies from global to shared memory that hold no registers while they are under way, so that a
// thread can have rows in flight which it comes to later. A thread waits for its own copies alone;
// for what another thread copied it takes a barrier as well.
#pragma once

namespace twill::cuda {

// A place in shared memory, in bytes. Kept in a register, where of a pointer to a __shared__
// variable the compiler works out the address anew at every use: five instructions.
using SharedAddress = unsigned;

__device__ __forceinline__ SharedAddress address_of(const void* shared) {
  return static_cast<SharedAddress>(__cvta_generic_to_shared(shared));
}

__device__ __forceinline__ uint4 read16(SharedAddress from) {
  uint4 bits;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(bits.x), "=r"(bits.y), "=r"(bits.z), "=r"(bits.w)
               : "r"(from)
               : "memory");
  return bits;
}

__device__ __forceinline__ float2 read8(SharedAddress from) {
  float2 pair;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];"
               : "=f"(pair.x), "=f"(pair.y)
               : "r"(from)
               : "memory");
  return pair;
}

__device__ __forceinline__ void write4(SharedAddress to, float value) {
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(value) : "memory");
}

// Both addresses on 16-byte boundaries. L1 is passed by.
__device__ __forceinline__ void copy16_async(SharedAddress to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to),
               "l"(__cvta_generic_to_global(from))
               : "memory");
}

__device__ __forceinline__ void copy4_async(SharedAddress to, const void* from) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to),
               "l"(__cvta_generic_to_global(from))
               : "memory");
}

// Closes a group of copies; a group may be empty.
__device__ __forceinline__ void commit_copies() {
  asm volatile("cp.async.commit_group;" ::: "memory");
}

// Until no more than the kLeft youngest groups are under way.
template <int kLeft>
__device__ __forceinline__ void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

}  // namespace twill::cuda
