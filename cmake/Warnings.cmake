# SPDX-License-Identifier: Apache-2.0
# The warnings every target of ours is built with. Third-party headers are SYSTEM and exempt.
add_library(twill_warnings INTERFACE)
# nvcc passes none of these on: its own warnings are set where its sources are.
set(TWILL_CXX_WARNINGS -Wall -Wextra -Wshadow -Wconversion)
# GCC 12 sees overlapping and endless copies in std::string::operator= and insert where there are none
# (its bug 105651, mended in 13), the latter only where the header comes precompiled. The preset ci,
# which precompiles nothing, keeps the rest of these warnings.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND TWILL_CXX_WARNINGS -Wno-restrict)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    list(APPEND TWILL_CXX_WARNINGS -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
  endif()
endif()
# In a batch no source is the main file, outside of which GCC takes classes with members of an
# anonymous namespace for those of a header.
if(TWILL_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND TWILL_CXX_WARNINGS -Wno-subobject-linkage)
  # What is inlined across a batch shows GCC 12 members of std::variant and std::optional that are never
  # read (its bug 105562); which ones depends on the batch. The sanitizers look for what is really unset.
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    list(APPEND TWILL_CXX_WARNINGS -Wno-maybe-uninitialized)
  endif()
endif()
if(TWILL_WERROR)
  list(APPEND TWILL_CXX_WARNINGS -Werror)
endif()
target_compile_options(twill_warnings INTERFACE
                       "$<$<COMPILE_LANGUAGE:CXX>:${TWILL_CXX_WARNINGS}>")
