#pragma once

#include "core/base/result.hpp"
#include "core/chat/output/event.hpp"
#include "core/chat/output/syntax.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace etna::chat::output {

/// Where in the protocol the prompt ends, and so the output begins.
enum class Start : uint8_t {
    content,
    reasoning, ///< the prompt has opened it
    header,    ///< in a message's header, see Messages
};

/// Found from the end of the rendered prompt.
Start start_after(const Syntax& syntax, std::string_view prompt);

enum class Ending : uint8_t {
    complete, ///< the model ended its turn: what was held back is content
    cut_off,  ///< a limit or the user stopped it: what may be the beginning of a mark is dropped, with the
              ///< white space in front of it
};

struct ParserOptions {
    Start start = Start::content;
    /// The request's `tools` as JSON: an array of {"type": "function", "function": {name, parameters}} or of
    /// {name, parameters}. Empty, "null" or "[]": calls are not looked for, and their marks are plain text.
    std::string_view tools;
    /// The content is kept to a form, in which marks of reasoning and of the protocol are text like any
    /// other; reasoning may come before it. Without tools only.
    bool is_form = false;
};

/// Turns a model's output into content, reasoning and calls while it streams. What comes out does not depend
/// on how the text is cut (neighbouring pieces of the same kind joined). White space at marks is the
/// protocol's, but for that at the end of a last message; two stretches of content, or of reasoning, with
/// something else between them are set apart by an empty line. Time and memory are linear in the text. Bytes
/// that are not UTF-8 become U+FFFD. Not thread-safe; movable.
class Parser {
public:
    /// Errors: invalid_argument (`tools` is not such JSON).
    static Result<Parser> create(const Syntax& syntax, const ParserOptions& options);

    Parser(Parser&&) noexcept;
    Parser& operator=(Parser&&) noexcept;
    ~Parser();

    /// The next piece of output. The events are valid until the next call of a member function.
    std::span<const Event> push(std::string_view text);

    /// The end of the output. Nothing may be pushed after it.
    std::span<const Event> finish(Ending ending);

private:
    class Machine;
    explicit Parser(std::unique_ptr<Machine> machine);

    std::unique_ptr<Machine> machine_; ///< not null, unless moved from
};

} // namespace etna::chat::output
