#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::text {

/// Ends a stream of text at the first stop string. Pushed text is returned as soon as it can no longer be
/// part of a stop; the stop and everything after it are dropped. The result does not depend on chunk
/// boundaries. If stops overlap, the one that completes first wins, and of those that complete at the same
/// byte the longest. If text and stops are valid UTF-8, so is every returned piece. Time: bytes of text x
/// number of stops. Not thread-safe.
class StopMatcher {
public:
    /// An empty stop string never matches.
    explicit StopMatcher(std::vector<std::string> stops);

    /// Adds text; returns the text that is safe to show, possibly none. The view is valid until the next
    /// call. After a match: always empty.
    std::string_view push(std::string_view text);

    /// Whether `text` would complete a stop string if it were pushed.
    [[nodiscard]] bool completes(std::string_view text) const;

    /// Bytes of text that may begin a stop string.
    [[nodiscard]] std::size_t held_bytes() const;

    /// Ends the stream; returns the held-back text, unless a stop has matched. The view is valid until the
    /// next call.
    std::string_view flush();

    /// Index of the matched stop in the constructor's list.
    [[nodiscard]] std::optional<std::size_t> matched() const { return matched_; }

private:
    /// Knuth-Morris-Pratt automaton for one stop string.
    struct Pattern {
        std::string stop;
        std::vector<std::size_t> fallback; ///< [n]: longest proper prefix of stop that ends its first n bytes
        std::size_t length = 0;            ///< length of the longest prefix of `stop` that the text ends with
    };
    static std::size_t advanced(const Pattern& pattern, std::size_t length, char byte);

    std::vector<Pattern> patterns_;
    std::string held_; ///< the suffix of the text that may begin a stop
    std::string text_;
    std::optional<std::size_t> matched_;
};

} // namespace etna::text
