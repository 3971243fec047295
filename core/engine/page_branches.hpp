#pragma once

#include "core/base/token.hpp"
#include "core/engine/batch.hpp"
#include "core/engine/page_hash.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace etna::engine {

/// Which published pages follow which, and what they hold: finds the page that begins like a content which no
/// page holds whole. Knows no pools; whether a page still exists is asked. Not thread-safe.
class PageBranches {
public:
    using Exists = std::function<bool(const PageHash&)>;

    /// The page `hash` follows `parent` and holds `tokens`, computed as rows of `kinds`. A page that is known
    /// changes nothing. Beyond branches_max pages after one parent the oldest is forgotten.
    void add(const PageHash& parent, const PageHash& hash, std::span<const TokenId> tokens,
             std::span<const RowKind> kinds);

    struct Found {
        PageHash hash{};
        uint32_t places = 0; ///< leading ones that agree, at least 1
    };
    /// The page after `parent` that exists and agrees with the longest beginning of `tokens` and `kinds`.
    [[nodiscard]] std::optional<Found> longest(const PageHash& parent, std::span<const TokenId> tokens,
                                               std::span<const RowKind> kinds, const Exists& exists) const;

    /// Forgets pages that no longer exist.
    void prune(const Exists& exists);

    [[nodiscard]] std::size_t size() const { return count_; }

private:
    static constexpr std::size_t branches_max = 64;

    struct Branch {
        PageHash hash{};
        std::vector<TokenId> tokens;
        std::vector<RowKind> kinds;
    };

    std::unordered_map<PageHash, std::vector<Branch>, PageHashHasher> branches_; ///< by parent, oldest first
    std::size_t count_ = 0;
};

} // namespace etna::engine
