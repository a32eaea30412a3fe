// SPDX-License-Identifier: Apache-2.0
// The only file that sees nlohmann-json.
#include "io/json/json.h"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/require.h"

namespace twill {
namespace {

using Json = nlohmann::json;

// Passes the parser's events on to a JsonHandler.
class Adapter final : public nlohmann::json_sax<Json> {
 public:
  explicit Adapter(JsonHandler& handler) : handler_(handler) {}

  bool null() override {
    handler_.null();
    return true;
  }
  bool boolean(bool value) override {
    handler_.boolean(value);
    return true;
  }
  bool number_integer(number_integer_t value) override {
    handler_.integer(value);
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
      return other("a number that is too large");
    handler_.integer(static_cast<std::int64_t>(value));
    return true;
  }
  bool number_float(number_float_t value, const string_t&) override {
    handler_.fraction(value);
    return true;
  }
  bool string(string_t& value) override {
    handler_.text(std::move(value));
    return true;
  }
  bool binary(binary_t&) override { return other("binary data"); }
  bool start_object(std::size_t) override {
    handler_.begin_object();
    return true;
  }
  bool key(string_t& name) override {
    handler_.key(std::move(name));
    return true;
  }
  bool end_object() override {
    handler_.end_object();
    return true;
  }
  bool start_array(std::size_t) override {
    handler_.begin_array();
    return true;
  }
  bool end_array() override {
    handler_.end_array();
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    fail("not valid JSON at byte {}", position);
  }

 private:
  bool other(std::string_view what) {
    handler_.other(what);
    return true;
  }

  JsonHandler& handler_;
};

}  // namespace

void parse_json(std::string_view text, JsonHandler& handler) {
  Adapter adapter(handler);
  Json::sax_parse(text.begin(), text.end(), &adapter);
}

std::optional<std::int64_t> json_integer_at(std::string_view line, std::string_view key) {
  const Json object = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return std::nullopt;
  const auto member = object.find(key);
  if (member == object.end() || !member->is_number_integer()) return std::nullopt;
  return member->get<std::int64_t>();
}

std::string json_quoted(std::string_view text) {
  return Json(text).dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string json_number(double value) {
  if (!std::isfinite(value)) return "null";
  std::string text = fmt::to_string(value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

}  // namespace twill
