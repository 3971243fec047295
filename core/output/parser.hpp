#pragma once

#include "core/base/result.hpp"
#include "core/output/event.hpp"
#include "core/output/syntax.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace etna::output {

/// The protocol state at the end of the prompt, in which the output starts.
enum class Start : uint8_t {
    content,
    reasoning, ///< the prompt has opened the reasoning
    header,    ///< inside a message header, see Messages
};

/// Returns the state at the end of a rendered prompt.
Start start_after(const Syntax& syntax, std::string_view prompt);

enum class Ending : uint8_t {
    complete, ///< the model ended its turn: held-back text is content
    cut_off,  ///< a limit or the user stopped it: a possible partial mark is dropped, with the white space
              ///< before it
};

struct ParserOptions {
    Start start = Start::content;
    /// The request's `tools` as JSON: an array of {"type": "function", "function": {name, parameters}} or of
    /// {name, parameters}. Empty, "null" or "[]": calls are not parsed, and their marks are plain text.
    std::string_view tools;
    /// The content is constrained to a form, so that reasoning and protocol marks in it are plain text.
    /// Reasoning may precede it. Only without tools.
    bool is_form = false;
};

/// Splits a model's streamed output into content, reasoning and calls. The events do not depend on chunk
/// boundaries (adjacent events of one kind count as one). White space next to marks belongs to the protocol,
/// except at the end of the last message. Two spans of content, or of reasoning, with something else in
/// between are separated by an empty line. Time and memory are linear in the text. Bytes that are not UTF-8
/// become U+FFFD. Not thread-safe; movable.
class Parser {
public:
    /// Errors: invalid_argument (`tools` is not JSON of that form).
    static Result<Parser> create(const Syntax& syntax, const ParserOptions& options);

    Parser(Parser&&) noexcept;
    Parser& operator=(Parser&&) noexcept;
    ~Parser();

    /// Parses the next chunk of output. The events are valid until the next call of a member function.
    std::span<const Event> push(std::string_view text);

    /// Ends the output. push() must not be called afterwards.
    std::span<const Event> finish(Ending ending);

private:
    class Machine;
    explicit Parser(std::unique_ptr<Machine> machine);

    std::unique_ptr<Machine> machine_; ///< not null, unless moved from
};

} // namespace etna::output
