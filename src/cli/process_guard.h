// SPDX-License-Identifier: Apache-2.0
// What the system does to a process by default, made into a sentence and an exit code.
#pragma once

#include <exception>

namespace twill::cli {

// The first thing main() does.
//
//   standard descriptors  one that is closed becomes /dev/null, so that no file of ours gets its
//                         number and has messages written into it
//   SIGXFSZ               ignored: write() then fails with EFBIG, which is said like a full disk
//   SIGBUS                of a mapped file that was cut: its name, exit code 2. Nothing is saved: what
//                         is in memory may hold what was read behind the end
//   std::terminate        of an allocation that failed where nothing catches it: exit code 2
//   the stack             is grown now: later there may be no memory for it, which is a SIGSEGV; and
//                         so is the unwinder loaded
void guard_process();

// An allocation or the start of a thread was refused.
bool is_out_of_memory(const std::exception& error);
// "twill: out of memory…" on standard error, without asking for memory. Returns the exit code.
int tell_out_of_memory();

}  // namespace twill::cli
