// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include <gtest/gtest.h>

#include "twill/error.h"

namespace twill {

// The call must throw a twill::Error whose text contains `part`.
template <class Call>
void expect_error(const Call& call, std::string_view part) {
  try {
    call();
    ADD_FAILURE() << "no error, expected one with: " << part;
  } catch (const Error& error) {
    EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos)
        << "got:      " << error.what() << "\nexpected: " << part;
  }
}

// Arguments with one change must be refused by their front door.
template <class Args, class Change>
void expect_refused(Args args, const Change& change, std::string_view part) {
  change(args);
  expect_error([&] { validate(args); }, part);
}

}  // namespace twill
