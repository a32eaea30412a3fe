# SPDX-License-Identifier: Apache-2.0
# The kernels of 2:4 products on Hopper: one source each, because a kernel takes most of a minute to
# compile, and written from this table, because they differ in nothing else. A row is
#
#   the epilogue (SparseEpilogue)   how it is computed
#
# where "MxN" is a tile of CUTLASS's own kernel (sparse_product.cuh), "stream-K" cuts its work evenly
# among multiprocessors, and "overlapped" is our loop that finishes a tile under the next one
# (sparse_overlapped.cuh). A row "kGelu 128x256" becomes sparse_gelu_128x256.cu with the function
# sparse_gelu_128x256(). Rows of one epilogue stand together, the expected best first: in this order they
# become the table sparse_ways_sm90.cpp.
set(twill_sparse_ways
    "kSum            overlapped"
    "kSum            128x256"
    "kSum            256x192"
    "kGelu           overlapped"
    "kGelu           128x256"
    "kGeluGradient   128x256"
    "kGeluSlope      overlapped"
    "kTimesSlope     overlapped"
    "kWeightGradient 128x256 stream-K"
    "kWeightGradient 256x192 stream-K"
    "kRelu2          overlapped"
    "kRelu2Gradient  128x256"
    "kSwiglu         128x256"
    "kGeglu          128x256"
    "kGegluTanh      128x256")

# Tiles: what C++ calls them. All have clusters of two along M.
set(tile_128x256 "Shape<_128, _256, _64>")
set(tile_256x192 "Shape<_256, Int<192>, _64>")
set(cluster "Shape<_2, _1, _1>")

# Writes the sources into `folder`; paths of the kernels in `kernels`, of the table in `table`. A file that
# would not change keeps its time.
function(twill_write_sparse_ways folder kernels table)
  set(sources)
  set(declarations)
  set(epilogues)
  foreach(row ${twill_sparse_ways})
    string(REGEX MATCHALL "[^ ]+" words "${row}")
    list(GET words 0 epilogue)
    list(GET words 1 kind)
    # kGeluGradient: gelu_gradient
    string(REGEX REPLACE "([a-z0-9])([A-Z])" "\\1_\\2" name "${epilogue}")
    string(REGEX REPLACE "^k_" "" name "${name}")
    string(TOLOWER "sparse_${name}_${kind}" function)
    if(kind STREQUAL "overlapped")
      set(header sparse_overlapped.cuh)
      set(kernel "OverlappedWay<SparseEpilogue::${epilogue}>")
      set(text "128x256 2x1 overlapped")
    else()
      set(header sparse_product.cuh)
      set(kernel "SparseEpilogue::${epilogue}, ${tile_${kind}}, ${cluster}")
      set(text "${kind} 2x1")
      if("stream-K" IN_LIST words)
        string(APPEND kernel ", cutlass::gemm::StreamKScheduler")
        string(APPEND text " stream-K")
      endif()
      set(kernel "Way<${kernel}>")
    endif()
    configure_file(${CMAKE_CURRENT_SOURCE_DIR}/sparse_products/sparse_way.cu.in
                   ${folder}/${function}.cu @ONLY)
    list(APPEND sources ${folder}/${function}.cu)
    string(APPEND declarations "SparseWay ${function}();\n")
    list(APPEND epilogues ${epilogue})
    list(APPEND ways_of_${epilogue} "${function}()")
  endforeach()
  set(cases)
  list(REMOVE_DUPLICATES epilogues)
  foreach(epilogue ${epilogues})
    list(JOIN ways_of_${epilogue} ", " ways)
    string(APPEND cases "    case SparseEpilogue::${epilogue}:\n      return {${ways}};\n")
  endforeach()
  configure_file(${CMAKE_CURRENT_SOURCE_DIR}/sparse_products/sparse_ways_sm90.cpp.in
                 ${folder}/sparse_ways_sm90.cpp @ONLY)
  set(${kernels} ${sources} PARENT_SCOPE)
  set(${table} ${folder}/sparse_ways_sm90.cpp PARENT_SCOPE)
endfunction()
