// SPDX-License-Identifier: Apache-2.0
// TWILL_CHECK(condition, "context"): a promise of ours, checked on cold paths in every build.
// TWILL_DCHECK: the same in inner loops, only in debug and sanitizer presets.
//
// Plain enough for .cu files: no fmt here.
#pragma once

#include "twill/error.h"

namespace twill {

[[noreturn]] void check_failed(const char* condition, const char* file, int line,
                               const char* context);

}  // namespace twill

#define TWILL_CHECK(condition, context)                               \
  do {                                                                \
    if (!(condition)) [[unlikely]]                                    \
      ::twill::check_failed(#condition, __FILE__, __LINE__, context); \
  } while (false)

#ifdef NDEBUG
#define TWILL_DCHECK(condition, context) \
  do {                                   \
  } while (false)
#else
#define TWILL_DCHECK(condition, context) TWILL_CHECK(condition, context)
#endif
