// SPDX-License-Identifier: Apache-2.0
#include "cli/process_guard.h"

#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "cli/commands.h"
#include "io/mapped_file.h"

namespace twill::cli {
namespace {

// Twill's own frames stay below 100 KiB; oneDNN and regular expressions are what needs more.
constexpr std::size_t kStackBytes = std::size_t{1} << 20;

// Of a signal handler or without memory: nothing but write().
void tell(const char* text) {
  const ssize_t ignored = ::write(STDERR_FILENO, text, std::strlen(text));
  (void)ignored;
}

void open_standard_descriptors() {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number) {
    if (::fcntl(number, F_GETFD) >= 0) continue;
    // The lowest free number is this one: those below are open by now.
    if (::open("/dev/null", O_RDWR) != number) std::_Exit(kUserCanFix);
  }
}

void on_bus_error(int, siginfo_t* info, void*) {
  const char* path = mapped_path_at(info->si_addr);
  if (path == nullptr) {
    // Ours to repair, or the memory's: as if there were no handler.
    ::signal(SIGBUS, SIG_DFL);
    return;
  }
  tell("\ntwill: ");
  tell(path);
  tell(
      ": cut to a smaller size, or unreadable, while it was in use; put it back and go on with "
      "--resume: what was saved stays usable\n");
  std::_Exit(kUserCanFix);
}

void watch_mapped_files() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

// Where a function that must not throw does, std::terminate comes without the exception.
thread_local bool allocation_failed = false;

void on_failed_allocation() {
  allocation_failed = true;
  throw std::bad_alloc();
}

[[noreturn]] void on_terminate() {
  if (allocation_failed && std::uncaught_exceptions() > 0) std::_Exit(tell_out_of_memory());
  try {
    if (std::current_exception()) throw;
  } catch (const std::exception& error) {
    if (is_out_of_memory(error)) std::_Exit(tell_out_of_memory());
  } catch (...) {
  }
  std::abort();
}

[[gnu::noinline]] void touch_stack() {
  volatile char frame[kStackBytes];
  for (std::size_t at = 0; at < kStackBytes; at += 4096) frame[kStackBytes - 1 - at] = 0;
  static_cast<void>(frame[0]);
}

void grow_stack() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < 3 * kStackBytes) return;
  // Touching a stack that cannot grow is the very SIGSEGV.
  void* room = ::mmap(nullptr, 2 * kStackBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) std::_Exit(tell_out_of_memory());
  ::munmap(room, 2 * kStackBytes);
  touch_stack();
}

// The C library loads its unwinder when a thread first ends, and aborts where it cannot.
void load_unwinder() {
  void* frame = nullptr;
  ::backtrace(&frame, 1);
}

}  // namespace

bool is_out_of_memory(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return true;
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  return system != nullptr && (system->code() == std::errc::not_enough_memory ||
                               system->code() == std::errc::resource_unavailable_try_again);
}

int tell_out_of_memory() {
  tell(
      "twill: out of memory: the system gives no more; use a smaller model, train.micro_batch or "
      "text, fewer threads, or raise the limit (ulimit -v); what was saved stays usable\n");
  return kUserCanFix;
}

void guard_process() {
  open_standard_descriptors();
  ::signal(SIGXFSZ, SIG_IGN);
  watch_mapped_files();
  std::set_new_handler(on_failed_allocation);
  std::set_terminate(on_terminate);
  grow_stack();
  load_unwinder();
}

}  // namespace twill::cli
