# SPDX-License-Identifier: Apache-2.0
# Headers that nearly every source includes, parsed once per target: a third of the time to compile.
# Each source still includes what it uses; the preset ci builds without this, and says so if not.
function(twill_precompile target)
  target_precompile_headers(${target} PRIVATE
    <algorithm> <array> <cmath> <cstdint> <cstring> <deque> <functional> <map> <memory> <optional>
    <span> <string> <string_view> <vector> <fmt/format.h>)
endfunction()
