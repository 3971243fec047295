#pragma once

#include "core/jinja/ast.hpp"

#include <set>
#include <string>

namespace etna::jinja {

using Names = std::set<std::string, std::less<>>;

/// Returns those of `names` that the block reads, at any depth, before it assigns them.
Names uses_undeclared(const Block& block, Names names);

} // namespace etna::jinja
