// SPDX-License-Identifier: Apache-2.0
// Learns sums modulo 10 from examples that the program makes itself, and asks the model for answers.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <iostream>
#include <span>
#include <vector>

#include <twill/twill.h>

namespace {

// "a b c": c = (a + b) mod 10. Only the answer is a target; -1 is none.
void sum_of(std::int64_t position, std::span<std::int32_t> tokens,
            std::span<std::int32_t> targets) {
  const auto a = static_cast<std::int32_t>(position % 10);
  const auto b = static_cast<std::int32_t>(position / 10 % 10);
  std::ranges::fill(tokens, 0);
  std::ranges::fill(targets, -1);
  tokens[0] = a;
  tokens[1] = b;
  targets[1] = (a + b) % 10;
}

int right_answers(twill::Session& session) {
  int right = 0;
  for (std::int32_t sum = 0; sum < 100; ++sum) {
    const std::vector<std::int32_t> ids{sum % 10, sum / 10};
    const std::vector<float> logits = session.logits(ids);
    const auto answer = std::ranges::max_element(logits) - logits.begin();
    right += answer == (ids[0] + ids[1]) % 10;
  }
  return right;
}

}  // namespace

int main() {
  try {
    twill::SessionOptions options;
    options.settings = {"model.vocab=10",  "model.layers=2",    "model.width=64",
                        "model.heads=2",   "model.context=4",   "train.micro_batch=100",
                        "train.steps=300", "optimizer.lr=5e-3", "eval.every=100",
                        "eval.windows=0",  "recipe=dense"};
    options.data =
        twill::OwnData{.train = sum_of, .validation = sum_of, .validation_examples = 100};
    twill::Session session(options);
    session.train([](const twill::StepReport& report) {
      if (report.validation_loss)
        std::cout << "step " << report.step << "  validation " << *report.validation_loss << '\n';
      return true;
    });
    std::cout << right_answers(session) << " of 100 sums are right\n";
  } catch (const twill::Error& error) {  // something the caller can fix
    std::cerr << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "unexpected: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
