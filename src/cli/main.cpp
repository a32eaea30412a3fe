// SPDX-License-Identifier: Apache-2.0
// The only place that ends the process, but for one that goes on as another (own_program.h) and for what
// cannot come back (process_guard.h): runs one command and turns exceptions into one line and an exit
// code.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <system_error>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/process_guard.h"
#include "twill/error.h"

namespace twill::cli {
namespace {

// Asks for no memory, and throws nothing where standard error takes no more.
int report(const char* who, const char* what, int code) {
  for (const char* part : {"twill: ", who, what, "\n"}) std::fputs(part, stderr);
  return code;
}

int report_output_failure(int error) {
  return report("cannot write to standard output: ", std::strerror(error), kUserCanFix);
}

int report_other(const std::exception& error) {
  if (is_out_of_memory(error)) return tell_out_of_memory();
  // fmt throws this when standard output takes no more.
  const auto* system = dynamic_cast<const std::system_error*>(&error);
  if (system != nullptr && std::ferror(stdout) != 0)
    return report_output_failure(system->code().value());
  return report("a bug of ours, please report it: ", error.what(), kOurBug);
}

}  // namespace
}  // namespace twill::cli

int main(int argc, char** argv) {
  using namespace twill;
  cli::guard_process();
  try {
    const int code = cli::parse_and_run(argc, argv);
    if (std::fflush(stdout) == 0 || code != cli::kDone) return code;
    return cli::report_output_failure(errno);
  } catch (const Error& error) {
    return cli::report("", error.what(), cli::kUserCanFix);
  } catch (const DeviceError& error) {
    return cli::report("the device failed: ", error.what(), cli::kDeviceFailed);
  } catch (const std::exception& error) {
    return cli::report_other(error);
  }
}
