// SPDX-License-Identifier: Apache-2.0
#include "sparsity/account/health.h"

#include <algorithm>
#include <cstdio>

#include "base/require.h"

namespace twill {

void FlipAlarm::begin_phase(std::int64_t begin, std::int64_t end) {
  *this = FlipAlarm();
  begin_ = begin;
  end_ = end;
}

std::string FlipAlarm::observe(std::int64_t step, double flip_rate) {
  const double share = static_cast<double>(step - begin_) /
                       static_cast<double>(std::max<std::int64_t>(1, end_ - begin_));
  const bool early = share <= 0.1 || !has_last_;
  if (early) early_peak_ = std::max(early_peak_, flip_rate);
  rises_ = !early && flip_rate > last_ ? rises_ + 1 : 0;
  last_ = flip_rate;
  has_last_ = true;
  if (!told_explosion_ && rises_ >= 3 && flip_rate > 2.0 * early_peak_) {
    told_explosion_ = true;
    return fmt::format(
        "flip-rate explosion: {:.3g} of the mask bits change per step, more than twice the early "
        "peak "
        "of {:.3g}; the mask thrashes: raise decay.lambda (twill tune decay finds one)",
        flip_rate, early_peak_);
  }
  if (!told_collapse_ && flip_rate == 0.0 && !early && share < 0.5) {
    told_collapse_ = true;
    return "flip-rate collapse: no mask bit changes although the phase is not half over; the mask "
           "is "
           "frozen: lower decay.lambda, or raise optimizer.lr";
  }
  return {};
}

std::string FlipAlarm::save() const {
  return fmt::format("{} {} {:a} {:a} {} {} {} {}", begin_, end_, early_peak_, last_, rises_,
                     static_cast<int>(has_last_), static_cast<int>(told_explosion_),
                     static_cast<int>(told_collapse_));
}

void FlipAlarm::restore(const std::string& text) {
  long long begin = 0, end = 0, rises = 0;
  int has_last = 0, explosion = 0, collapse = 0;
  const int read = std::sscanf(text.c_str(), "%lld %lld %la %la %lld %d %d %d", &begin, &end,
                               &early_peak_, &last_, &rises, &has_last, &explosion, &collapse);
  require(read == 8, "state of the flip-rate alarm is damaged: '{}'", text);
  begin_ = begin;
  end_ = end;
  rises_ = rises;
  has_last_ = has_last != 0;
  told_explosion_ = explosion != 0;
  told_collapse_ = collapse != 0;
}

}  // namespace twill
