// SPDX-License-Identifier: Apache-2.0
#include "cli/planning/launcher.h"

#include <cstdlib>

namespace twill::cli {
namespace {

bool is_set(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value != nullptr && *value != '\0';
}

bool is_several(const Environment& environment, const char* name) {
  return is_set(environment, name) && std::atoll(environment(name)) > 1;
}

}  // namespace

std::string launcher_name(const Environment& environment) {
  const auto has = [&](const char* name) { return is_set(environment, name); };
  const auto several = [&](const char* name) { return is_several(environment, name); };
  if (has("OMPI_COMM_WORLD_SIZE")) return "mpirun";
  if (has("TORCHELASTIC_RUN_ID")) return "torchrun";
  // A shell of salloc or sbatch has a number of tasks too, but is no step.
  if (has("SLURM_STEP_ID") && (several("SLURM_NTASKS") || several("SLURM_STEP_NUM_TASKS")))
    return "srun";
  // MPICH, Intel MPI and others of the Process Management Interface.
  if (has("PMI_RANK") || has("PMI_SIZE") || has("PMIX_RANK")) return "mpiexec";
  if (several("WORLD_SIZE")) return "a launcher (WORLD_SIZE is set)";
  return {};
}

std::string launcher_name() {
  return launcher_name([](const char* name) { return std::getenv(name); });
}

}  // namespace twill::cli
