#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::store {

/// Fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b` (optimal string
/// alignment distance), in bytes; ASCII case is ignored. Time is the product of the lengths.
uint32_t edit_distance(std::string_view a, std::string_view b);

/// Those of `names` that a mistyped `wanted` may have meant, nearest first, at most three: within a third of
/// the wanted length (at least one) edits, or beginning with it.
std::vector<std::string> similar(std::string_view wanted, std::span<const std::string> names);

} // namespace etna::store
