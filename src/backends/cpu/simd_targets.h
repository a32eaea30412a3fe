// SPDX-License-Identifier: Apache-2.0
// Which instruction sets the *_simd.cpp files are compiled for. Include it before any Highway
// header.
//
// On x86: AVX-512, AVX2, SSE4 and the scalar baseline. SSSE3 is left out: every such CPU of the
// last fifteen years has SSE4. On Arm: NEON. SVE is left out because its vectors have no size and
// so cannot stand in a struct.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
