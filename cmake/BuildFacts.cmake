# SPDX-License-Identifier: Apache-2.0
# The commit that is built, for base/build_facts.h: asked for by every build, because a commit made
# since the last configuration is another one. A source is written, and compiled, only when it changed.
#
# Included it defines the target; as a script (cmake -P) it writes the source.
set(twill_build_facts_source ${CMAKE_BINARY_DIR}/generated/build_facts.cpp)

if(CMAKE_SCRIPT_MODE_FILE)
  set(commit unknown)
  # Unpacked inside another repository we are no part of that.
  if(EXISTS ${source_dir}/.git)
    # The clone may be somebody else's, as a mounted folder of a container is.
    set(git git -c safe.directory=${source_dir} -C ${source_dir})
    execute_process(COMMAND ${git} rev-parse --short=12 HEAD OUTPUT_VARIABLE head
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
    execute_process(COMMAND ${git} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes
                    ERROR_QUIET)
    if(failed STREQUAL "0")
      set(commit ${head})
      if(NOT changes STREQUAL "")
        string(APPEND commit " with changes")
      endif()
    endif()
  endif()
  configure_file(${source_dir}/cmake/build_facts.cpp.in ${output} @ONLY)
  return()
endif()

add_custom_target(
  twill_build_facts
  COMMAND ${CMAKE_COMMAND} -Dsource_dir=${PROJECT_SOURCE_DIR} -Doutput=${twill_build_facts_source}
          "-Dcompiler=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
          "-Dkind=${CMAKE_BUILD_TYPE}" -P ${CMAKE_CURRENT_LIST_FILE}
  BYPRODUCTS ${twill_build_facts_source}
  COMMENT "Looking up the commit"
  VERBATIM)

function(twill_add_build_facts target)
  target_sources(${target} PRIVATE ${twill_build_facts_source})
  add_dependencies(${target} twill_build_facts)
endfunction()
