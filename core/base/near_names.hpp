#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna {

/// Optimal string alignment distance: the fewest insertions, deletions, substitutions and transpositions of
/// adjacent bytes that turn `a` into `b`; ignores ASCII case. Time is the product of the lengths.
uint32_t edit_distance(std::string_view a, std::string_view b);

/// Returns up to three of `names` that `mistyped` may mean, nearest first: within a third of its
/// length in edits (at least one), or starting with it.
std::vector<std::string> near_names(std::string_view mistyped, std::span<const std::string> names);

} // namespace etna
