// SPDX-License-Identifier: Apache-2.0
#include "eval/white_space.h"

#include <cstddef>

namespace twill {
namespace {

// All characters of Unicode that Python strips.
constexpr std::string_view kSpaces[] = {
    "\t",           "\n",           "\v",           "\f",           "\r",
    "\x1c",         "\x1d",         "\x1e",         "\x1f",         " ",
    "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81",
    "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
    "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8",
    "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};

// Bytes of the white space that `text` has at its end, or at its beginning; 0 when there is none.
std::size_t space_at_end(std::string_view text) {
  for (const std::string_view space : kSpaces)
    if (text.ends_with(space)) return space.size();
  return 0;
}
std::size_t space_at_begin(std::string_view text) {
  for (const std::string_view space : kSpaces)
    if (text.starts_with(space)) return space.size();
  return 0;
}

}  // namespace

std::string_view without_trailing_space(std::string_view text) {
  while (const std::size_t bytes = space_at_end(text)) text.remove_suffix(bytes);
  return text;
}

std::string_view stripped(std::string_view text) {
  while (const std::size_t bytes = space_at_begin(text)) text.remove_prefix(bytes);
  return without_trailing_space(text);
}

}  // namespace twill
