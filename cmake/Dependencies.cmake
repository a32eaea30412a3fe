# SPDX-License-Identifier: Apache-2.0
# What Twill builds on; docs/dependencies.md gives the reason for each.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(hwy REQUIRED)
find_package(ZLIB REQUIRED)
find_package(LibLZMA REQUIRED)

# xxHash, PCRE2, zstd and utf8proc bring no CMake package on Debian 12; oneDNN's asks for OpenCL,
# which we do not use.
function(twill_find_library target header library)
  if(TARGET ${target})
    return()
  endif()
  string(TOUPPER ${library} name)
  find_path(TWILL_${name}_INCLUDE_DIR ${header} REQUIRED)
  find_library(TWILL_${name}_LIBRARY ${library} REQUIRED)
  add_library(${target} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${TWILL_${name}_LIBRARY}
                        INTERFACE_INCLUDE_DIRECTORIES ${TWILL_${name}_INCLUDE_DIR})
endfunction()
twill_find_library(DNNL::dnnl dnnl.h dnnl)
twill_find_library(xxhash::xxhash xxhash.h xxhash)
twill_find_library(PCRE2::pcre2_8 pcre2.h pcre2-8)
twill_find_library(zstd::zstd zstd.h zstd)
twill_find_library(utf8proc::utf8proc utf8proc.h utf8proc)
