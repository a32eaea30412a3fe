// SPDX-License-Identifier: Apache-2.0
// GPT-2 writes each byte as a printable character, so that tokens can stand in JSON and in lists
// divided by spaces: '!' to '~', '¡' to '¬' and '®' to 'ÿ' stand for themselves, the other 68 bytes
// for U+0100 onwards, in order.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace twill {

// By byte.
const std::array<std::string, 256>& byte_characters();
// The bytes in the order of their characters, which is the order of the first ids of GPT-2.
const std::array<unsigned char, 256>& bytes_in_character_order();

std::string to_byte_characters(std::string_view bytes);
// Empty when the token has a character that stands for no byte.
std::optional<std::string> from_byte_characters(std::string_view token);

}  // namespace twill
