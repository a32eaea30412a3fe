// SPDX-License-Identifier: Apache-2.0
// Files of ranks or scores do not say which pair makes a token. In any text, what happens inside a
// token before it is whole happens in the token alone as well: neighbours outside join only across
// its ends. So playing the joins through on the token alone shows the one pair that ever makes it.
#include <algorithm>
#include <limits>
#include <optional>

#include "data/tokenizers/files/bpe_files.h"

namespace twill {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

class Player {
 public:
  explicit Player(const DeriveArgs& args)
      : args_(args), place_(static_cast<std::size_t>(args.vocabulary.size()), kNever) {
    for (std::size_t i = 0; i < args.order.size(); ++i)
      place_[static_cast<std::size_t>(args.order[i])] = static_cast<std::int64_t>(i);
  }

  std::optional<MergeRule> last_join(std::int32_t id) {
    pieces_ = args_.symbols(*args_.vocabulary.token(id));
    if (pieces_.size() < 2) return std::nullopt;
    joins_.clear();
    for (std::size_t i = 0; i + 1 < pieces_.size(); ++i) joins_.push_back(join_at(i));
    while (pieces_.size() > 2) {
      const auto best = std::ranges::min_element(joins_);
      if (*best == kNever) return std::nullopt;
      join(static_cast<std::size_t>(best - joins_.begin()));
    }
    const auto left = args_.vocabulary.find(pieces_[0]);
    const auto right = args_.vocabulary.find(pieces_[1]);
    if (!left || !right) return std::nullopt;
    return MergeRule{*left, *right, id};
  }

 private:
  std::int64_t join_at(std::size_t i) const {
    const auto id = args_.vocabulary.find(pieces_[i] + pieces_[i + 1]);
    return id ? place_[static_cast<std::size_t>(*id)] : kNever;
  }

  void join(std::size_t i) {
    pieces_[i] += pieces_[i + 1];
    pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    joins_.erase(joins_.begin() + static_cast<std::ptrdiff_t>(i));
    if (i > 0) joins_[i - 1] = join_at(i - 1);
    if (i < joins_.size()) joins_[i] = join_at(i);
  }

  const DeriveArgs& args_;
  std::vector<std::int64_t> place_;  // in the order, by id
  std::vector<std::string> pieces_;
  std::vector<std::int64_t> joins_;
};

}  // namespace

std::vector<MergeRule> derive_merges(const DeriveArgs& args) {
  Player player(args);
  std::vector<MergeRule> rules;
  for (const std::int32_t id : args.order)
    if (const auto rule = player.last_join(id)) rules.push_back(*rule);
  return rules;
}

}  // namespace twill
