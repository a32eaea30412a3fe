# SPDX-License-Identifier: Apache-2.0
# The warnings every target of ours is built with. Third-party headers are SYSTEM and exempt.
add_library(twill_warnings INTERFACE)
target_compile_options(twill_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion)
# GCC 12 sees overlapping copies in std::string::operator= and insert where there are none (its bug
# 105651, mended in 13).
target_compile_options(
  twill_warnings
  INTERFACE
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
if(TWILL_WERROR)
  target_compile_options(twill_warnings INTERFACE -Werror)
endif()
