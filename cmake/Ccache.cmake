# SPDX-License-Identifier: Apache-2.0
# What was compiled before is not compiled again, where ccache is installed. In its depend mode the
# first time costs nothing more: no second run of the preprocessor.
if(DEFINED CMAKE_CXX_COMPILER_LAUNCHER OR "$ENV{TWILL_CCACHE}" STREQUAL "off")
  return()
endif()
find_program(TWILL_CCACHE_PROGRAM ccache)
mark_as_advanced(TWILL_CCACHE_PROGRAM)
if(NOT TWILL_CCACHE_PROGRAM)
  return()
endif()
set(launcher env CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
             CCACHE_SLOPPINESS=pch_defines,time_macros)
set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher} CCACHE_DEPEND=1 ${TWILL_CCACHE_PROGRAM})
set(CMAKE_CUDA_COMPILER_LAUNCHER ${launcher} ${TWILL_CCACHE_PROGRAM})
# Without it GCC does not tell ccache which precompiled header it read.
add_compile_options($<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fpch-preprocess>)
