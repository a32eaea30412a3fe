// SPDX-License-Identifier: Apache-2.0
#include "data/builtin_corpus.h"

#include <cstddef>

// The assembler reads the file: no generated source of megabytes, no tool such as xxd.
// TWILL_CORPUS_PATH comes from CMakeLists.txt.
asm(".pushsection .rodata\n"
    ".global twill_corpus_begin\n"
    ".hidden twill_corpus_begin\n"
    ".global twill_corpus_end\n"
    ".hidden twill_corpus_end\n"
    "twill_corpus_begin:\n"
    ".incbin \"" TWILL_CORPUS_PATH
    "\"\n"
    "twill_corpus_end:\n"
    ".byte 0\n"  // the end label stays inside the section even if the file is empty
    ".popsection\n");

extern "C" {
extern const char twill_corpus_begin[];
extern const char twill_corpus_end[];
}

namespace twill {

std::string_view builtin_corpus() {
  return {twill_corpus_begin, static_cast<std::size_t>(twill_corpus_end - twill_corpus_begin)};
}

}  // namespace twill
