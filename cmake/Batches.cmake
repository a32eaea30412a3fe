# SPDX-License-Identifier: Apache-2.0
# TWILL_UNITY: the compiler reads up to `size` sources of one folder as one, so that what they
# include is parsed, and what they share instantiated, once. With batches of eight 330 sources take
# 98 s on two cores instead of about 140; an edit costs the 3 to 5 s of its batch instead of 1 s,
# so the presets for development, and ci whose sources clang-tidy reads one by one, do without.
#
# Sources of a folder therefore share one anonymous namespace: a name that two of them define stops
# the build. One that cannot give its name up stays out with the property
# SKIP_UNITY_BUILD_INCLUSION; EXCEPT leaves out every source whose path matches an expression.
function(twill_batch target size)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "EXCEPT")
  if(NOT TWILL_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  get_target_property(home ${target} SOURCE_DIR)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  foreach(expression ${arg_EXCEPT})
    list(FILTER sources EXCLUDE REGEX ${expression})
  endforeach()

  set(folders)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${home})
    get_source_file_property(is_alone ${source} TARGET_DIRECTORY ${target}
                             SKIP_UNITY_BUILD_INCLUSION)
    cmake_path(IS_PREFIX PROJECT_SOURCE_DIR ${source} is_ours) # or made by CMake
    if(is_ours AND NOT is_alone)
      cmake_path(GET source PARENT_PATH folder)
      list(APPEND folders ${folder})
      list(APPEND sources_of_${folder} ${source})
    endif()
  endforeach()

  # Slices of equal length, give or take one.
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    list(LENGTH sources_of_${folder} count)
    math(EXPR num_batches "(${count} + ${size} - 1) / ${size}")
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER ${name} name)
    set(index 0)
    foreach(source ${sources_of_${folder}})
      math(EXPR batch "${index} * ${num_batches} / ${count}")
      set_source_files_properties(${source} TARGET_DIRECTORY ${target}
                                  PROPERTIES UNITY_GROUP ${name}_${batch})
      math(EXPR index "${index} + 1")
    endforeach()
  endforeach()
endfunction()
