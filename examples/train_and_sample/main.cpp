// SPDX-License-Identifier: Apache-2.0
// Trains a small GPT on the built-in corpus and lets it write: Twill as a library, in 40 lines.
#include <exception>
#include <iostream>

#include <twill/twill.h>

namespace {

void train(twill::Session& session) {
  std::cout << "validation loss before: " << session.validation_loss() << '\n';
  while (!session.done()) {
    const twill::StepReport report = session.step();
    if (report.step % 20 == 0)
      std::cout << "step " << report.step << "  loss " << report.loss << '\n';
  }
  std::cout << "validation loss after:  " << session.validation_loss() << '\n';
}

}  // namespace

int main() {
  try {
    // Any key of `twill config --help`.
    twill::Session session({"model=tiny", "model.layers=2", "model.width=128", "train.steps=60",
                            "train.sequence=64", "optimizer.lr=3e-3"});
    train(session);
    std::cout << "sample: " << session.sample("The weaver", 120) << '\n';
  } catch (const twill::Error& error) {  // something the caller can fix
    std::cerr << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "unexpected: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
