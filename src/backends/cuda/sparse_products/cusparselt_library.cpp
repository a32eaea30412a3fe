// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sparse_products/cusparselt_library.h"

#include <dlfcn.h>

#include <fmt/format.h>

namespace twill::cuda::cusparselt {
namespace {

constexpr const char* kFile = "libcusparseLt.so.0";

template <class Function>
void look_up(void* file, const char* name, Function*& function, std::string& problem) {
  const std::string whole = fmt::format("cusparseLt{}", name);
  function = reinterpret_cast<Function*>(::dlsym(file, whole.c_str()));
  if (function == nullptr && problem.empty()) problem = fmt::format("{} has no {}", kFile, whole);
}

std::string why_not_open() {
  const char* text = ::dlerror();
  return fmt::format(
      "{}; `./twill deps cusparselt` fetches it, LD_LIBRARY_PATH=build/deps/cusparselt/lib shows "
      "it",
      text != nullptr ? text : kFile);
}

void check_version(Library& library) {
  int major = -1, minor = -1, patch = -1;
  const bool answers = library.GetProperty(kMajorVersion, &major) == kSuccess &&
                       library.GetProperty(kMinorVersion, &minor) == kSuccess &&
                       library.GetProperty(kPatchVersion, &patch) == kSuccess;
  library.version = fmt::format("{}.{}.{}", major, minor, patch);
  if (!answers || major != kKnownMajor || minor != kKnownMinor)
    library.problem =
        fmt::format("{} is version {}, expected {}.{}, which `./twill deps cusparselt` fetches",
                    kFile, library.version, kKnownMajor, kKnownMinor);
}

Library open() {
  Library library;
  void* const file = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) {
    library.problem = why_not_open();
    return library;
  }
  const auto find = [&](const char* name, auto*& function) {
    look_up(file, name, function, library.problem);
  };
  find("Init", library.Init);
  find("Destroy", library.Destroy);
  find("GetProperty", library.GetProperty);
  find("GetErrorName", library.GetErrorName);
  find("DenseDescriptorInit", library.DenseDescriptorInit);
  find("StructuredDescriptorInit", library.StructuredDescriptorInit);
  find("MatDescriptorDestroy", library.MatDescriptorDestroy);
  find("MatmulDescriptorInit", library.MatmulDescriptorInit);
  find("MatmulAlgSelectionInit", library.MatmulAlgSelectionInit);
  find("MatmulAlgSelectionDestroy", library.MatmulAlgSelectionDestroy);
  find("MatmulAlgGetAttribute", library.MatmulAlgGetAttribute);
  find("MatmulPlanInit", library.MatmulPlanInit);
  find("MatmulPlanDestroy", library.MatmulPlanDestroy);
  find("MatmulGetWorkspace", library.MatmulGetWorkspace);
  find("Matmul", library.Matmul);
  find("MatmulSearch", library.MatmulSearch);
  find("SpMMAPruneCheck2", library.SpMMAPruneCheck2);
  find("SpMMACompressedSize2", library.SpMMACompressedSize2);
  find("SpMMACompress2", library.SpMMACompress2);
  if (library.problem.empty()) check_version(library);
  return library;
}

}  // namespace

const Library& library() {
  static const Library the_library = open();
  return the_library;
}

}  // namespace twill::cuda::cusparselt
