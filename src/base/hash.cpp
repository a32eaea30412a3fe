// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "base/check.h"

namespace twill {

struct Hasher::State {
  XXH3_state_t* xxh = XXH3_createState();
  ~State() { XXH3_freeState(xxh); }
};

Hasher::Hasher() : state_(std::make_unique<State>()) {
  TWILL_CHECK(state_->xxh != nullptr, "out of memory for a hash state");
  XXH3_64bits_reset(state_->xxh);
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::add(const void* data, std::size_t bytes) {
  if (bytes > 0) XXH3_64bits_update(state_->xxh, data, bytes);
}

std::uint64_t Hasher::value() const { return XXH3_64bits_digest(state_->xxh); }

std::uint64_t hash_bytes(const void* data, std::size_t bytes) { return XXH3_64bits(data, bytes); }

std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace twill
