// SPDX-License-Identifier: Apache-2.0
// The only place that ends the process, but for one that goes on as another (own_program.h): runs one
// command and turns exceptions into one line and an exit code.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include <fmt/format.h>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "twill/error.h"

namespace twill::cli {
namespace {

int report(const char* who, const std::exception& error, int code) {
  fmt::print(stderr, "{}{}\n", who, error.what());
  return code;
}

int report_output_failure(int error) {
  fmt::print(stderr, "twill: cannot write to standard output: {}\n", std::strerror(error));
  return kUserCanFix;
}

}  // namespace
}  // namespace twill::cli

int main(int argc, char** argv) {
  using namespace twill;
  try {
    const int code = cli::parse_and_run(argc, argv);
    if (std::fflush(stdout) == 0 || code != cli::kDone) return code;
    return cli::report_output_failure(errno);
  } catch (const Error& error) {
    return cli::report("twill: ", error, cli::kUserCanFix);
  } catch (const DeviceError& error) {
    return cli::report("twill: the device failed: ", error, cli::kDeviceFailed);
  } catch (const std::bad_alloc&) {
    return cli::report("twill: ", Error("out of memory; use a smaller model, batch or text"),
                       cli::kUserCanFix);
  } catch (const std::system_error& error) {
    // fmt throws this when standard output takes no more.
    if (std::ferror(stdout) != 0) return cli::report_output_failure(error.code().value());
    return cli::report("twill: a bug of ours, please report it: ", error, cli::kOurBug);
  } catch (const std::exception& error) {
    return cli::report("twill: a bug of ours, please report it: ", error, cli::kOurBug);
  }
}
