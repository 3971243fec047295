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

/// The successors of each published page, and their tokens: finds the page with the longest matching prefix
/// if no page matches in full. Does not know the pools; a callback checks whether a page still exists. Not
/// thread-safe.
class PageBranches {
public:
    using Exists = std::function<bool(const PageHash&)>;

    /// Records that page `hash` follows `parent` and holds `tokens`, computed as rows of `kinds`. No effect
    /// if the page is known. Beyond branches_max pages after one parent the oldest is dropped.
    void add(const PageHash& parent, const PageHash& hash, std::span<const TokenId> tokens,
             std::span<const RowKind> kinds);

    struct Found {
        PageHash hash{};
        uint32_t positions = 0; ///< leading positions that agree, at least 1
    };
    /// Returns the page after `parent` that exists and agrees with the longest prefix of `tokens` and
    /// `kinds`.
    [[nodiscard]] std::optional<Found> longest(const PageHash& parent, std::span<const TokenId> tokens,
                                               std::span<const RowKind> kinds, const Exists& exists) const;

    /// Removes pages that do not exist any more.
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
