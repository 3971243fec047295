#pragma once

#include "core/engine/content.hpp"
#include "core/engine/page_hash.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace etna::engine {

/// The successors of each published page, and their content: finds the page with the longest matching prefix
/// if no page matches in full. Does not know the pools; a callback checks whether a page still exists. Not
/// thread-safe.
class PageBranches {
public:
    using Exists = std::function<bool(const PageHash&)>;

    /// Records that page `hash` follows `parent` and holds `content`. No effect if the page is known. Beyond
    /// branches_max pages after one parent the oldest is dropped.
    void add(const PageHash& parent, const PageHash& hash, const ContentRun& content);

    struct Found {
        PageHash hash{};
        uint32_t positions = 0; ///< leading positions that agree
    };
    /// Returns the page after `parent` that exists and agrees with the longest prefix of `content`, at least
    /// one position.
    [[nodiscard]] std::optional<Found> longest(const PageHash& parent, const ContentRun& content,
                                               const Exists& exists) const;

    /// Returns the longest page after `parent` that exists and is a prefix of `content`; it may be empty.
    [[nodiscard]] std::optional<Found> longest_whole(const PageHash& parent, const ContentRun& content,
                                                     const Exists& exists) const;

    /// Removes pages for which `exists` is false.
    void prune(const Exists& exists);

    [[nodiscard]] std::size_t size() const { return count_; }

private:
    static constexpr std::size_t branches_max = 64;

    struct Branch {
        PageHash hash{};
        std::vector<ContentId> ids;
        std::vector<RowKind> kinds;

        [[nodiscard]] uint32_t agreement(const ContentRun& content) const;
    };

    std::unordered_map<PageHash, std::vector<Branch>, PageHashHasher> branches_; ///< by parent, oldest first
    std::size_t count_ = 0;
};

} // namespace etna::engine
