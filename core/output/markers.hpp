#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace etna::output {

constexpr std::string_view white_space = " \t\r\n";

std::string_view trim(std::string_view text);

/// Whether a closing text is unambiguous: "</tool_call>", but not "}" or "```", which also occur in content.
/// A stray closing tag is hidden from the user.
bool is_tag(std::string_view close);

/// What begins and ends a block of code.
constexpr std::string_view fence = "```";
inline bool is_fence(std::string_view marker) {
    return marker.starts_with(fence);
}

/// Whether a text starts with a marker; `partial`: the text is too short to decide.
enum class Match { no, partial, yes };
Match match_prefix(std::string_view text, std::string_view marker);

/// The offset of a marker, or of a possible marker that needs more text to decide.
struct MarkerMatch {
    std::size_t offset = 0;            ///< the text's size: no marker
    std::optional<std::size_t> marker; ///< index of the marker; empty with offset < size: undecided
    bool is_line_start = false;        ///< not a marker, but the start of a line
};

/// Whether the text may be extended by later chunks.
enum class More { may_come, none };

/// Searches for several markers at once. The markers' texts must outlive the set.
class MarkerSet {
public:
    void clear();
    void add(std::string_view marker); ///< trims the marker; ignores an empty one
    [[nodiscard]] std::string_view operator[](std::size_t index) const { return markers_[index]; }
    [[nodiscard]] std::size_t size() const { return markers_.size(); }

    /// Finds the first marker in `text`; the longest of several at the same offset.
    /// Also stops, without a marker, at the start of a line that begins with one of `line_starts`.
    [[nodiscard]] MarkerMatch find(std::string_view text, More more, std::string_view line_starts = {}) const;

    /// Matches a marker at the start of `text`: `offset` is 0, or the size if no marker matches.
    [[nodiscard]] MarkerMatch match(std::string_view text, More more) const;

private:
    std::vector<std::string_view> markers_;
    std::array<bool, 256> begins_{}; ///< by first byte
};

} // namespace etna::output
