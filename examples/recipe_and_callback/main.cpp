// SPDX-License-Identifier: Apache-2.0
// A sparse recipe written in code, and a callback that watches it: 2:4 masks for two thirds of the run,
// dense behind.
#include <exception>
#include <iostream>

#include <twill/twill.h>

namespace {

twill::Recipe sparse_then_dense() {
  twill::Recipe recipe("sparse-then-dense");
  recipe.set("layers=ffn").set("health.every=10").set("execution=masked");
  recipe.add_phase(
      {"until=2/3", "weights.pattern=2:4", "weights.projection=hard", "weights.refresh=1"});
  recipe.add_phase({});
  return recipe;
}

bool show(const twill::StepReport& report) {
  if (!report.health) return true;  // at steps 1, 11, 21, …
  std::cout << "step " << report.step << "  loss " << report.loss << "  lr " << report.learning_rate
            << "  gradient " << report.gradient_norm << "  tokens/s " << report.tokens_per_second;
  std::cout << "  flips " << report.health->overall.flip_rate << "  " << report.health->alarm
            << '\n';
  return report.loss < 20.0;  // false ends the training
}

}  // namespace

int main() {
  try {
    twill::SessionOptions options;
    options.settings = {"model=tiny",        "model.layers=2", "model.width=64",
                        "train.sequence=64", "train.steps=60", "optimizer.lr=3e-3",
                        "eval.windows=8"};
    options.recipe = sparse_then_dense();
    // Warm-up over ten steps, then constant, in place of the config's schedule.
    options.learning_rate = [](std::int64_t step) {
      return step < 10 ? 3e-4 * double(step) : 3e-3;
    };
    twill::Session session(options);
    session.train(show);
    std::cout << "validation loss: " << session.validation_loss() << '\n';
  } catch (const twill::Error& error) {  // something the caller can fix
    std::cerr << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "unexpected: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
