// SPDX-License-Identifier: Apache-2.0
// A std::variant that can be copied where memory is short. GCC 12's holds that one of strings and
// vectors always has a value (PR 112591 of its library): when the copy of such a value throws bad_alloc
// it destroys what was never made, and the program crashes.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

namespace twill {

// The first type is the value of an empty one. All types move without throwing.
template <class... Types>
class Variant : public std::variant<Types...> {
 public:
  using Base = std::variant<Types...>;
  using Base::Base;
  using Base::operator=;

  Variant() = default;
  Variant(Variant&&) noexcept = default;
  Variant& operator=(Variant&&) noexcept = default;
  ~Variant() = default;

  Variant(const Variant& other) : Base() {
    // Copied outside, then moved in.
    std::visit(
        [this](const auto& value) {
          using Value = std::remove_cvref_t<decltype(value)>;
          Value copy = value;
          this->template emplace<Value>(std::move(copy));
        },
        static_cast<const Base&>(other));
  }
  Variant& operator=(const Variant& other) {
    Variant copy(other);
    return *this = std::move(copy);
  }
};

}  // namespace twill
