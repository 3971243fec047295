#pragma once

#include "core/base/result.hpp"
#include "core/jinja/value.hpp"
#include "core/output/event.hpp"
#include "core/output/syntax.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace etna::output {

class OutputMachine;

/// The reason for the end of the output.
enum class Ending : uint8_t {
    complete, ///< the model ended its turn: held-back text is content
    cut_off,  ///< a limit or the user stopped it: a possible partial marker is dropped, with the white space
              ///< before it
};

/// The request's part in parsing its output.
struct ParserOptions {
    Start start = Start::content;
    /// The request's tools, each {"type": "function", "function": {name, parameters}} or {name, parameters}.
    /// Empty: calls are not parsed, and their markers are plain text. Borrowed by Parser::create().
    std::span<const jinja::Value> tools = {};
    /// The content is constrained by a grammar, so that reasoning and protocol markers in it are plain text.
    /// Reasoning may precede it. Only without tools.
    bool is_structured = false;
    /// A grammar constrains the calls, because arguments must match their schemas, a call is required, or the
    /// content is constrained too. Then text that resembles a call in no form of the family's is content; so
    /// is one between lines of content.
    bool has_strict_calls = false;
    /// The prompt mentions markers around an answer that are not the template's. Then they are content.
    bool mentions_answer_markers = false;
};

/// Reasoning that has no end yet.
struct OpenReasoning {
    std::string_view close; ///< the marker that ends it: the first, if several can; static
    bool is_decided = true; ///< the text does not end in a possible part of a marker
};

/// Splits a model's streamed output into content, reasoning and calls. The events do not depend on chunk
/// boundaries (adjacent events of one kind count as one). White space next to markers belongs to the
/// protocol, except at the end of the last message. Two spans of content, or of reasoning, with something
/// else in between are separated by an empty line. Time and memory are linear in the text. Bytes that are not
/// UTF-8 become U+FFFD. Not thread-safe.
class Parser {
public:
    /// Errors: invalid_argument (`tools` are not of that form).
    static Result<Parser> create(const Syntax& syntax, const ParserOptions& options);

    Parser(const Parser& other);
    Parser(Parser&&) noexcept;
    Parser& operator=(Parser&&) noexcept;
    ~Parser();

    /// Parses the next chunk of output. The events are valid until the next call of a member function.
    std::span<const Event> push(std::string_view text);

    /// Ends the output. push() must not be called afterwards.
    std::span<const Event> finish(Ending ending);

    /// Returns the white space at the end of the content so far. It is content unless a marker follows. The
    /// view is valid until the next call of another member function.
    [[nodiscard]] std::string_view held_space() const;

    /// Returns the number of bytes at the end of the text that may be content, and of which no event exists.
    [[nodiscard]] std::size_t undecided_bytes() const;

    /// Returns the reasoning in which the text so far ends; empty outside of reasoning.
    [[nodiscard]] std::optional<OpenReasoning> open_reasoning() const;

private:
    explicit Parser(std::unique_ptr<OutputMachine> machine);

    std::unique_ptr<OutputMachine> machine_; ///< not null, unless moved from
};

} // namespace etna::output
