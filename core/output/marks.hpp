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

/// Whether a text starts with a mark; `open`: the text is too short to decide.
enum class Match { no, open, yes };
Match begins_with(std::string_view text, std::string_view mark);

/// The offset of a mark, or of a possible mark that needs more text to decide.
struct Sighting {
    std::size_t at = 0;              ///< the text's size: no mark
    std::optional<std::size_t> mark; ///< index of the mark; empty with at < size: undecided
};

enum class More { may_come, none };

/// Searches for several marks at once. The marks' texts must outlive the set.
class MarkSet {
public:
    void clear();
    void add(std::string_view mark); ///< trims the mark; ignores an empty one
    [[nodiscard]] std::string_view operator[](std::size_t index) const { return marks_[index]; }
    [[nodiscard]] std::size_t size() const { return marks_.size(); }

    /// Finds the first mark in `text`; the longest of several at the same offset.
    [[nodiscard]] Sighting find(std::string_view text, More more) const;

    /// Matches a mark at the start of `text`: `at` is 0, or the size if there is none.
    [[nodiscard]] Sighting match(std::string_view text, More more) const;

private:
    std::vector<std::string_view> marks_;
    std::array<bool, 256> begins_{}; ///< by first byte
};

} // namespace etna::output
