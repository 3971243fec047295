#pragma once

#include "core/grammar/expression.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace etna::grammar {

/// The cached results of next() for one expression. Most are queried for few bytes only.
struct Transitions {
    static constexpr std::size_t few_max = 6;
    static constexpr Expression unknown = UINT32_MAX;
    using Table = std::array<Expression, 256>;
    static constexpr std::size_t table_bytes = sizeof(Table);

    std::vector<std::pair<uint8_t, Expression>> few = {};
    std::unique_ptr<Table> all = {};

    [[nodiscard]] Expression find(uint8_t byte) const;
    /// Returns how many bytes of memory it allocated.
    std::size_t add(uint8_t byte, Expression target);
};

} // namespace etna::grammar
