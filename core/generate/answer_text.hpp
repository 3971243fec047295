#pragma once

#include "core/generate/request.hpp"
#include "core/output/parser.hpp"
#include "core/text/stop_matcher.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Internal to core/generate: stop strings and the parts of an answer.
namespace etna::generate {

/// The text of one answer while it arrives: splits it into content, reasoning and calls, and ends it at the
/// first stop string. The events do not depend on chunk boundaries. Copyable; not thread-safe.
class AnswerText {
public:
    struct Options {
        std::vector<std::string> stop = {};
        StopScope scope = StopScope::content;
        MatchedStop matched = MatchedStop::excluded;
        bool has_tools = false; ///< a call may follow the content, and the white space before it is dropped
    };

    /// `parser`: empty for plain text, which is all content.
    AnswerText(Options options, std::optional<output::Parser> parser);

    /// Whether stop strings end the answer in a text: not within its minimum length.
    enum class Stops : uint8_t { found, ignored };

    /// Adds text: complete UTF-8 characters. Returns the events of the text that no stop string can remove,
    /// valid until the next call; none after a stop string. A call starts with the first text of its
    /// arguments, so that a call that is cut off before them leaves no trace.
    std::span<const output::Event> push(std::string_view text, Stops stops);

    /// Ends the answer. `end_marker`: the name of the end token, if it is a marker of the syntax.
    std::span<const output::Event> finish(std::string_view end_marker, output::Ending ending);

    [[nodiscard]] bool has_parser() const { return parser_.has_value(); }

    /// Index of the stop string that ended the answer.
    [[nodiscard]] std::optional<std::size_t> matched() const { return matcher_.matched(); }

    /// Length of the start of the text that no stop string can remove, in bytes.
    [[nodiscard]] std::size_t final_bytes() const { return final_bytes_; }

private:
    void push_searched(std::string_view text);
    void push_character(std::string_view character);
    void take(std::span<const output::Event> events);
    void search(std::string_view content, std::size_t bytes_after);
    void parse(std::string_view text);
    void flush_matcher();
    void add(const output::Event& event);
    void add_content(std::string_view text);

    Options options_;
    std::optional<output::Parser> parser_;
    text::StopMatcher matcher_;
    bool is_searching_ = false; ///< in content, since the last push()
    std::vector<output::Event> events_;
    std::optional<output::Event> started_; ///< a call without arguments so far
    std::size_t bytes_ = 0;                ///< of the text so far
    std::size_t final_bytes_ = 0;
};

} // namespace etna::generate
