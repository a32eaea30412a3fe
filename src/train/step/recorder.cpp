// SPDX-License-Identifier: Apache-2.0
#include "train/step/recorder.h"

#include <exception>

namespace twill {
namespace {

void abandon_recording(const KernelTable& kernels, Queue& queue) {
  try {
    static_cast<void>(kernels.end_recording(queue));
  } catch (const std::exception&) {
    // The first error is the one to report.
  }
}

}  // namespace

std::unique_ptr<Recording> Recorder::recorded(const std::function<void()>& work) const {
  const KernelTable& kernels = context_.kernels();
  kernels.begin_recording(context_.queue());
  try {
    work();
  } catch (...) {
    // What follows must find a queue that runs again; the half recording is of no use.
    abandon_recording(kernels, context_.queue());
    throw;
  }
  return kernels.end_recording(context_.queue());
}

void Recorder::run(std::string_view name, const std::function<void()>& work) {
  const KernelTable& kernels = context_.kernels();
  const bool may_record = kernels.begin_recording != nullptr && context_.observer == nullptr;
  Piece& piece = pieces_[name];
  if (!may_record || !piece.has_run) {
    work();
    piece.has_run = true;
    return;
  }
  if (!piece.recording) piece.recording = recorded(work);
  kernels.replay(*piece.recording, context_.queue());
}

}  // namespace twill
