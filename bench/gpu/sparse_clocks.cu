// SPDX-License-Identifier: Apache-2.0
// What a kernel with a sparse tensor-core instruction in it costs everything else on a GPU.
//
//   nvcc -O3 -std=c++20 -arch=native -o build/sparse_clocks bench/gpu/sparse_clocks.cu -lcublas && build/sparse_clocks
//
// Three processes, one after the other: each multiplies dense matrices until clocks have settled, launches one
// kernel, rests, and multiplies on. The kernel is without mma.sp, has it and jumps over it, or has it and runs it.
// Compilers note in a kernel's description which sparse instructions it contains (cuobjdump -elf,
// EIATTR_SPARSE_MMA_MASK); a driver that acts on the note slows the second process as much as the third.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

constexpr int kSide = 8192, kBlocks = 1024, kThreads = 256;
constexpr double kSettle = 2.0, kMeasure = 2.0;
constexpr auto kRest = std::chrono::milliseconds(300);

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(cudaGetLastError()));
  std::exit(1);
}

// Sums of four uniform numbers: about as varied as weights. Zeros would take less power.
__global__ void fill(__nv_bfloat16* out, std::uint32_t seed) {
  constexpr std::int64_t kCount = std::int64_t{kSide} * kSide;
  for (std::int64_t i = blockIdx.x * kThreads + threadIdx.x; i < kCount; i += kBlocks * kThreads) {
    std::uint32_t bits = seed ^ static_cast<std::uint32_t>(i) * 0x9E3779B9u;
    float sum = -2.0f;
    for (int draw = 0; draw < 4; ++draw) {
      bits ^= bits << 13, bits ^= bits >> 17, bits ^= bits << 5;
      sum += static_cast<float>(bits >> 8) * 0x1p-24f;
    }
    out[i] = __float2bfloat16(sum);
  }
}

// m16n8k32, `times` over; the compiler does not know that it may be 0.
template <bool kHasSparse>
__global__ void multiply(float* out, int times) {
  float c[4] = {0.0f, 0.0f, 0.0f, 0.0f};
  const std::uint32_t a = 0x3F803F80u + threadIdx.x, b = 0x3F803F80u,
                      first_two_of_four = 0x44444444u;
  for (int i = 0; i < times; ++i) {
    if constexpr (kHasSparse) {
      asm volatile(
          "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 "
          "{%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5,%5,%5}, {%0,%1,%2,%3}, %6, 0x0;"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a), "r"(b), "r"(first_two_of_four));
    } else {
      asm volatile(
          "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
          "{%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};"
          : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
          : "r"(a), "r"(b));
    }
  }
  out[blockIdx.x * kThreads + threadIdx.x] = c[0] + c[1] + c[2] + c[3];
}

class DenseProduct {
 public:
  DenseProduct() {
    for (__nv_bfloat16** matrix : {&a_, &b_, &c_}) {
      check(cudaMalloc(matrix, sizeof(__nv_bfloat16) * kSide * kSide) == cudaSuccess, "cudaMalloc");
      fill<<<kBlocks, kThreads>>>(*matrix, ++seed_);
      check(cudaGetLastError() == cudaSuccess, "fill");
    }
    check(cublasCreate(&handle_) == CUBLAS_STATUS_SUCCESS, "cublasCreate");
  }

  // TFLOP/s over about so many seconds; between a hundred and the next lie some microseconds.
  double rate(double seconds) {
    using Clock = std::chrono::steady_clock;
    constexpr double kFlops = 2.0 * kSide * kSide * kSide;
    constexpr int kCalls = 100;
    const auto begin = Clock::now();
    double calls = 0.0, spent = 0.0;
    while (spent < seconds) {
      run(kCalls);
      check(cudaDeviceSynchronize() == cudaSuccess, "a product");
      calls += kCalls;
      spent = std::chrono::duration<double>(Clock::now() - begin).count();
    }
    return kFlops * calls / spent * 1e-12;
  }

 private:
  void run(int calls) {
    const float one = 1.0f, zero = 0.0f;
    for (int i = 0; i < calls; ++i)
      check(cublasGemmEx(handle_, CUBLAS_OP_N, CUBLAS_OP_N, kSide, kSide, kSide, &one, a_,
                         CUDA_R_16BF, kSide, b_, CUDA_R_16BF, kSide, &zero, c_, CUDA_R_16BF, kSide,
                         CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT) == CUBLAS_STATUS_SUCCESS,
            "cublasGemmEx");
  }

  __nv_bfloat16 *a_ = nullptr, *b_ = nullptr, *c_ = nullptr;
  std::uint32_t seed_ = 0;
  cublasHandle_t handle_ = nullptr;
};

template <class Launch>
void measure(const char* name, const Launch& launch) {
  DenseProduct dense;
  float* out = nullptr;
  check(cudaMalloc(&out, sizeof(float) * kBlocks * kThreads) == cudaSuccess, "cudaMalloc");
  dense.rate(kSettle);
  const double before = dense.rate(kMeasure);
  launch(out);
  check(cudaGetLastError() == cudaSuccess, name);
  check(cudaDeviceSynchronize() == cudaSuccess, name);
  std::this_thread::sleep_for(kRest);
  dense.rate(kSettle);
  const double after = dense.rate(kMeasure);
  std::printf("%-32s%8.0f%8.0f%8.3f\n", name, before, after, after / before);
}

// In a process of its own: what it leaves behind ends with it. Nothing of CUDA has run in the parent.
template <class Body>
void apart(const Body& body) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    std::fflush(stdout);
    std::_Exit(0);
  }
  int status = 0;
  check(child > 0, "fork");
  ::waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
}

}  // namespace

int main() {
  std::printf("%-32s%8s%8s%8s\n", "TFLOP/s of a dense product", "before", "after", "ratio");
  apart([] {
    measure("without mma.sp",
            [](float* out) { multiply<false><<<kBlocks, kThreads>>>(out, 1000); });
  });
  apart([] {
    measure("with mma.sp, jumped over",
            [](float* out) { multiply<true><<<kBlocks, kThreads>>>(out, 0); });
  });
  apart([] {
    measure("with mma.sp", [](float* out) { multiply<true><<<kBlocks, kThreads>>>(out, 1000); });
  });
}
