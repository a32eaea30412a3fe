// SPDX-License-Identifier: Apache-2.0
// sgemm by oneDNN. Kernels call it on one thread and cut the work themselves, so that the core
// count changes no bit.
#include "backends/cpu/products/sgemm.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <new>

#include <dnnl.h>

#include "base/check.h"

// Of libgomp, which Debian's oneDNN runs on. The header <omp.h> would ask for -fopenmp.
extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int num_threads);
}

namespace twill::cpu {
namespace {

// OpenMP keeps the number of threads per calling thread; a caller's own setting is given back.
class OpenMpThreads {
 public:
  explicit OpenMpThreads(int num_threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(num_threads);
  }
  ~OpenMpThreads() { omp_set_num_threads(before_); }
  OpenMpThreads(const OpenMpThreads&) = delete;
  OpenMpThreads& operator=(const OpenMpThreads&) = delete;

 private:
  int before_;
};

// oneDNN writes its kernels in the first product, about 6 MiB, and ends the process with a SIGSEGV
// where the system gives no room for them.
void require_room_for_kernels() {
  constexpr std::size_t kRoom = std::size_t{16} << 20;
  static const bool has_room = [] {
    void* room = ::mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) throw std::bad_alloc();
    ::munmap(room, kRoom);
    return true;
  }();
  (void)has_room;
}

char letter(bool trans) { return trans ? 'T' : 'N'; }

void scale_rows(const SgemmArgs& args) {
  for (std::int64_t row = 0; row < args.m; ++row) {
    float* c = args.c + row * args.ldc;
    if (args.beta == 0.0f) std::fill_n(c, args.n, 0.0f);
    if (args.beta != 0.0f && args.beta != 1.0f)
      std::for_each_n(c, args.n, [&](float& value) { value *= args.beta; });
  }
}

}  // namespace

void sgemm(const SgemmArgs& args, int num_threads) {
  if (args.m == 0 || args.n == 0) return;
  if (args.k == 0) return scale_rows(args);
  require_room_for_kernels();
  const OpenMpThreads scope(num_threads);
  const dnnl_status_t status =
      dnnl_sgemm(letter(args.trans_a), letter(args.trans_b), args.m, args.n, args.k, args.alpha,
                 args.a, args.lda, args.b, args.ldb, args.beta, args.c, args.ldc);
  if (status == dnnl_out_of_memory) throw std::bad_alloc();
  TWILL_CHECK(status == dnnl_success, "dnnl_sgemm refused a product");
}

}  // namespace twill::cpu
