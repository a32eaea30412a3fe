# SPDX-License-Identifier: Apache-2.0
# The CUDA language, its libraries and the two optional header libraries of the cuda backend.
enable_language(CUDA)
# CMake 3.25.1 has no C++20 entry for nvcc: CUDA_STANDARD 20 would be dropped without a word.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
find_package(CUDAToolkit REQUIRED)

# cudnn-frontend is C++ headers over cudnn.h: in the system, at a path the user gives, or where
# `./twill deps` unpacked its wheel. libcudnn itself is opened when the program runs.
find_path(TWILL_CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h
          PATHS ${CUDAToolkit_INCLUDE_DIRS}
                ${PROJECT_SOURCE_DIR}/build/deps/cudnn-frontend/include)
find_path(TWILL_CUDNN_INCLUDE_DIR cudnn.h PATHS ${CUDAToolkit_INCLUDE_DIRS}
                                                ${PROJECT_SOURCE_DIR}/build/deps/cudnn/include)
if(TWILL_CUDNN_FRONTEND_INCLUDE_DIR AND TWILL_CUDNN_INCLUDE_DIR)
  set(TWILL_HAS_CUDNN ON)
else()
  set(TWILL_HAS_CUDNN OFF)
  message(STATUS "cudnn.h or cudnn_frontend.h not found: attention runs on our own kernels, several "
                 "times slower than cuDNN's on a Hopper GPU; `./twill deps` fetches the headers")
endif()

# CUTLASS is headers: the quicker products of 2:4 matrices on Hopper.
find_path(TWILL_CUTLASS_INCLUDE_DIR cutlass/cutlass.h
          PATHS ${CUDAToolkit_INCLUDE_DIRS} ${PROJECT_SOURCE_DIR}/build/deps/cutlass/include)
if(TWILL_CUTLASS_INCLUDE_DIR)
  set(TWILL_HAS_CUTLASS ON)
else()
  set(TWILL_HAS_CUTLASS OFF)
  message(STATUS "cutlass/cutlass.h not found: 2:4 products on Hopper run as on older GPUs, slower; "
                 "`./twill deps cutlass` fetches the headers")
endif()
