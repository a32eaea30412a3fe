// SPDX-License-Identifier: Apache-2.0
// Loaded in front of a program (LD_PRELOAD), refuses it one thing that systems refuse when they are
// short: the n-th allocation, write, sync, … behind the beginning of main().
//
//   TWILL_FAULT=KIND:N         refuses the N-th call of the kind (from 1), in whichever thread it comes
//   TWILL_FAULT=KIND:N:on      refuses that one and all behind it, as a system that stays short
//   TWILL_FAULT_COUNTS=FILE    writes "KIND CALLS" lines to the file when the program ends
//
// Kinds: alloc (new, malloc and their like, private maps), thread, write (also pwrite; not to the
// standard descriptors), sync (fsync), rename, open (for writing). What oneDNN and OpenMP ask for does
// not count: neither looks at what it gets, and nobody can catch that. tools/fault_injection.sh tries
// all kinds on training runs.
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#define CALLER __builtin_return_address(0)

namespace {

enum Kind : int { kAlloc, kThread, kWrite, kSync, kRename, kOpen, kKinds };
constexpr std::array<const char*, kKinds> kNames{"alloc", "thread", "write",
                                                 "sync",  "rename", "open"};

std::array<std::atomic<long>, kKinds> calls{};
std::atomic<bool> has_begun{false};
int refused_kind = -1;
long refused_call = 0;
bool stays_short = false;

struct Range {
  std::uintptr_t begin = 0, end = 0;
};
std::array<Range, 8> foreign;  // the code of libraries that check nothing
std::size_t num_foreign = 0;

int note_foreign(dl_phdr_info* library, std::size_t, void*) {
  const bool counts = std::strstr(library->dlpi_name, "libdnnl") == nullptr &&
                      std::strstr(library->dlpi_name, "libgomp") == nullptr;
  for (int i = 0; !counts && i < library->dlpi_phnum; ++i) {
    const auto& part = library->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0 || num_foreign == foreign.size())
      continue;
    const std::uintptr_t begin = library->dlpi_addr + part.p_vaddr;
    foreign[num_foreign++] = {begin, begin + part.p_memsz};
  }
  return 0;
}

bool refuses(Kind kind, const void* caller) {
  if (!has_begun.load(std::memory_order_relaxed)) return false;
  const auto place = reinterpret_cast<std::uintptr_t>(caller);
  for (std::size_t i = 0; i < num_foreign; ++i)
    if (place >= foreign[i].begin && place < foreign[i].end) return false;
  const long call = ++calls[kind];
  return kind == refused_kind && (call == refused_call || (stays_short && call > refused_call));
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void read_wish() {
  const char* wish = std::getenv("TWILL_FAULT");
  if (wish == nullptr) return;
  for (int kind = 0; kind < kKinds; ++kind) {
    const std::size_t length = std::strlen(kNames[kind]);
    if (std::strncmp(wish, kNames[kind], length) != 0 || wish[length] != ':') continue;
    char* rest = nullptr;
    refused_call = std::strtol(wish + length + 1, &rest, 10);
    stays_short = std::strcmp(rest, ":on") == 0;
    refused_kind = kind;
  }
}

void write_counts() {
  has_begun = false;
  const char* path = std::getenv("TWILL_FAULT_COUNTS");
  if (path == nullptr) return;
  std::FILE* file = std::fopen(path, "w");
  if (file == nullptr) return;
  for (int kind = 0; kind < kKinds; ++kind)
    std::fprintf(file, "%s %ld\n", kNames[kind], calls[kind].load());
  std::fclose(file);
}

using Main = int(int, char**, char**);
Main* program_main = nullptr;

int counted_main(int argc, char** argv, char** environment) {
  read_wish();
  ::dl_iterate_phdr(note_foreign, nullptr);
  std::atexit(write_counts);
  has_begun = true;
  return program_main(argc, argv, environment);
}

}  // namespace

extern "C" {

int __libc_start_main(Main* main, int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*loader_fini)(), void* stack_end) {
  using Start = int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*);
  program_main = main;
  return next<Start>("__libc_start_main")(counted_main, argc, argv, init, fini, loader_fini,
                                          stack_end);
}

// glibc's own names: dlsym() itself allocates.
void* __libc_malloc(std::size_t bytes);
void* __libc_calloc(std::size_t count, std::size_t bytes);
void* __libc_realloc(void* old, std::size_t bytes);
void* __libc_memalign(std::size_t alignment, std::size_t bytes);

void* malloc(std::size_t bytes) {
  if (!refuses(kAlloc, CALLER)) return __libc_malloc(bytes);
  errno = ENOMEM;
  return nullptr;
}

void* calloc(std::size_t count, std::size_t bytes) {
  if (!refuses(kAlloc, CALLER)) return __libc_calloc(count, bytes);
  errno = ENOMEM;
  return nullptr;
}

void* realloc(void* old, std::size_t bytes) {
  if (!refuses(kAlloc, CALLER)) return __libc_realloc(old, bytes);
  errno = ENOMEM;
  return nullptr;
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (!refuses(kAlloc, CALLER)) return __libc_memalign(alignment, bytes);
  errno = ENOMEM;
  return nullptr;
}

void* memalign(std::size_t alignment, std::size_t bytes) {
  if (!refuses(kAlloc, CALLER)) return __libc_memalign(alignment, bytes);
  errno = ENOMEM;
  return nullptr;
}

int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) {
  *result = nullptr;
  if (refuses(kAlloc, CALLER)) return ENOMEM;
  *result = __libc_memalign(alignment, bytes);
  return *result == nullptr ? ENOMEM : 0;
}

void* mmap(void* address, std::size_t bytes, int protection, int flags, int file, off_t offset) {
  if ((flags & MAP_ANONYMOUS) != 0 && refuses(kAlloc, CALLER)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  static auto* real = next<void*(void*, std::size_t, int, int, int, off_t)>("mmap");
  return real(address, bytes, protection, flags, file, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static auto* real = next<Create>("pthread_create");
  return refuses(kThread, CALLER) ? EAGAIN : real(thread, attributes, body, argument);
}

ssize_t write(int file, const void* data, std::size_t bytes) {
  static auto* real = next<ssize_t(int, const void*, std::size_t)>("write");
  if (file > STDERR_FILENO && refuses(kWrite, CALLER)) {
    errno = ENOSPC;
    return -1;
  }
  return real(file, data, bytes);
}

ssize_t pwrite(int file, const void* data, std::size_t bytes, off_t offset) {
  static auto* real = next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
  if (refuses(kWrite, CALLER)) {
    errno = ENOSPC;
    return -1;
  }
  return real(file, data, bytes, offset);
}

int fsync(int file) {
  static auto* real = next<int(int)>("fsync");
  if (refuses(kSync, CALLER)) {
    errno = EIO;
    return -1;
  }
  return real(file);
}

int rename(const char* from, const char* to) {
  static auto* real = next<int(const char*, const char*)>("rename");
  if (refuses(kRename, CALLER)) {
    errno = EIO;
    return -1;
  }
  return real(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  static auto* real = next<int(int, const char*, int, const char*, unsigned)>("renameat2");
  if (refuses(kRename, CALLER)) {
    errno = EIO;
    return -1;
  }
  return real(from_folder, from, to_folder, to, flags);
}

int renameat(int from_folder, const char* from, int to_folder, const char* to) {
  static auto* real = next<int(int, const char*, int, const char*)>("renameat");
  if (refuses(kRename, CALLER)) {
    errno = EIO;
    return -1;
  }
  return real(from_folder, from, to_folder, to);
}

int openat(int folder, const char* path, int flags, ...) {
  static auto* real = next<int(int, const char*, int, ...)>("openat");
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = va_arg(rest, unsigned);
  va_end(rest);
  if ((flags & O_ACCMODE) != O_RDONLY && refuses(kOpen, CALLER)) {
    errno = ENOSPC;
    return -1;
  }
  return real(folder, path, flags, mode);
}

int open(const char* path, int flags, ...) {
  static auto* real = next<int(const char*, int, ...)>("open");
  va_list rest;
  va_start(rest, flags);
  const unsigned mode = va_arg(rest, unsigned);
  va_end(rest);
  if ((flags & O_ACCMODE) != O_RDONLY && refuses(kOpen, CALLER)) {
    errno = ENOSPC;
    return -1;
  }
  return real(path, flags, mode);
}

}  // extern "C"

namespace {

void* allocated(std::size_t alignment, std::size_t bytes, const void* caller) {
  void* memory = nullptr;
  if (!refuses(kAlloc, caller))
    memory = alignment > 0 ? __libc_memalign(alignment, bytes)
                           : __libc_malloc(std::max<std::size_t>(bytes, 1));
  if (memory != nullptr) return memory;
  if (const std::new_handler handler = std::get_new_handler(); handler != nullptr) handler();
  throw std::bad_alloc();
}

}  // namespace

// Of their own: libstdc++ calls malloc for them, and would be the caller of all.
void* operator new(std::size_t bytes) { return allocated(0, bytes, CALLER); }
void* operator new[](std::size_t bytes) { return allocated(0, bytes, CALLER); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocated(static_cast<std::size_t>(alignment), bytes, CALLER);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocated(static_cast<std::size_t>(alignment), bytes, CALLER);
}
