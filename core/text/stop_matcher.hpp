#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::text {

/// Ends a stream of text at the first stop string. What has been pushed comes out as soon as it can no longer
/// be part of a stop; text before the stop comes out, the stop and what follows does not. The result depends
/// on the text alone, not on where it was cut. If stops overlap, the one that is complete first wins, and of
/// those complete at the same byte the longest. Where text and stops are valid UTF-8, so is every piece that
/// comes out. Time: bytes of text x number of stops. Not thread-safe.
class StopMatcher {
public:
    /// An empty stop string never matches.
    explicit StopMatcher(std::vector<std::string> stops);

    /// Adds text; returns what is safe to show, maybe nothing. The view holds until the next call.
    /// After a match: always nothing.
    std::string_view push(std::string_view text);

    /// The stream has ended: what was held back, unless a stop has matched. The view holds until the next
    /// call.
    std::string_view flush();

    /// Which of the stops given to the constructor has matched, by index.
    [[nodiscard]] std::optional<std::size_t> matched() const { return matched_; }

private:
    /// Knuth, Morris and Pratt's automaton for one stop string.
    struct Pattern {
        std::string stop;
        std::vector<std::size_t> fallback; ///< [n]: longest proper prefix of stop that ends its first n bytes
        std::size_t length = 0;            ///< how many bytes of `stop` the text ends with
    };
    static void advance(Pattern& pattern, char byte);
    [[nodiscard]] std::size_t held_bytes() const;

    std::vector<Pattern> patterns_;
    std::string held_; ///< the end of the text so far that may begin a stop
    std::string text_;
    std::optional<std::size_t> matched_;
};

} // namespace etna::text
