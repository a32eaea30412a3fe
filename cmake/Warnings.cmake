# SPDX-License-Identifier: Apache-2.0
# The warnings every target of ours is built with. Third-party headers are SYSTEM and exempt.
add_library(twill_warnings INTERFACE)
target_compile_options(twill_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion)
# GCC 12 sees overlapping and endless copies in std::string::operator= and insert where there are none
# (its bug 105651, mended in 13), the latter only where the header comes precompiled. The preset ci,
# which precompiles nothing, keeps the rest of these warnings.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(twill_warnings INTERFACE -Wno-restrict)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    target_compile_options(twill_warnings INTERFACE -Wno-stringop-overflow -Wno-stringop-overread
                                                    -Wno-array-bounds)
  endif()
endif()
if(TWILL_WERROR)
  target_compile_options(twill_warnings INTERFACE -Werror)
endif()
