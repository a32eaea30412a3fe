# SPDX-License-Identifier: Apache-2.0
# The warnings every target of ours is built with. Third-party headers are SYSTEM and exempt.
add_library(twill_warnings INTERFACE)
target_compile_options(twill_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion)
if(TWILL_WERROR)
  target_compile_options(twill_warnings INTERFACE -Werror)
endif()
