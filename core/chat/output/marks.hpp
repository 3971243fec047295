#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace etna::chat::output {

constexpr std::string_view white_space = " \t\r\n";

std::string_view trim(std::string_view text);

/// Whether an end of calls can only be one: "</tool_call>", but not "}" or "```", which content has as well.
/// A model that closes what it did not open then shows nothing of it.
bool is_tag(std::string_view close);

/// Whether a text begins with a mark; `open`: it is too short to tell.
enum class Match { no, open, yes };
Match begins_with(std::string_view text, std::string_view mark);

/// A place in a text where a mark stands, or may stand once more text has come.
struct Sighting {
    std::size_t at = 0;              ///< the text's size: nothing seen
    std::optional<std::size_t> mark; ///< which; none although at < size: not decided yet
};

enum class More { may_come, none };

/// Searches for several texts at once. Marks must outlive it.
class MarkSet {
public:
    void clear();
    void add(std::string_view mark); ///< without the white space at its ends; an empty one is left out
    [[nodiscard]] std::string_view operator[](std::size_t index) const { return marks_[index]; }
    [[nodiscard]] std::size_t size() const { return marks_.size(); }

    /// The first mark in `text`; of several at one place the longest.
    [[nodiscard]] Sighting find(std::string_view text, More more) const;

    /// The mark at the beginning of `text`: `at` is 0, or the size where none stands there.
    [[nodiscard]] Sighting match(std::string_view text, More more) const;

private:
    std::vector<std::string_view> marks_;
    std::array<bool, 256> begins_{}; ///< by first byte
};

} // namespace etna::chat::output
