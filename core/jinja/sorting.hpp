#pragma once

#include "core/jinja/machine.hpp"

#include <vector>

namespace etna::jinja {

enum class SortOrder : uint8_t { ascending, descending };

/// Returns indices into `keys` in the order of Python's stable sort. TypeError if two keys cannot be
/// compared.
Result<std::vector<std::size_t>> sorted_places(Machine& machine, const std::vector<Value>& keys,
                                               SortOrder order);

} // namespace etna::jinja
