// SPDX-License-Identifier: Apache-2.0
// A run in a folder, as `twill train` makes it: begun, left, taken up again and exported.
//
//   resume_and_export [FOLDER]   runs/resumed by default; the folder must not exist
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>

#include <twill/twill.h>

namespace {

void begin_run(const std::filesystem::path& folder) {
  twill::Session session = twill::Session::start(
      {.settings = {"model=tiny", "model.layers=2", "model.width=64", "train.sequence=64",
                    "train.steps=40", "schedule.warmup_steps=10", "eval.windows=8", "recipe=dense",
                    "run.dir=" + folder.parent_path().string(),
                    "run.name=" + folder.filename().string()}});
  session.train([](const twill::StepReport& report) { return report.step < 15; });
  std::cout << "left at step " << session.steps_done() << ", saved in " << session.save() << '\n';
}

void finish_run(const std::string& folder) {
  twill::Session session = twill::Session::resume(folder);
  std::cout << "goes on behind step " << session.steps_done() << '\n';
  session.train([](const twill::StepReport&) { return true; });
  std::cout << "validation loss " << session.validation_loss() << '\n';
  session.export_to(folder + "-hf");
  std::cout << "AutoModelForCausalLM.from_pretrained(\"" << folder << "-hf\")\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string folder =
        std::filesystem::absolute(argc > 1 ? argv[1] : "runs/resumed").string();
    begin_run(folder);
    finish_run(folder);
  } catch (const twill::Error& error) {  // something the caller can fix
    std::cerr << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "unexpected: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
