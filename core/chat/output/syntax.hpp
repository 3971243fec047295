#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// How model families write reasoning and tool calls: plain data, enough to recognise a call and enough to
/// write a grammar that allows nothing else.
///
/// All texts are static. White space at the ends of a text is what the family writes; a reader takes any or
/// none.
namespace etna::chat::output {

/// What stands in a call after a fixed text.
enum class Slot : uint8_t {
    none,
    name,       ///< the function's name, up to the next text
    id,         ///< the call's id, up to the next text
    index,      ///< the call's number among the calls of this turn, counted from 0 or 1
    object,     ///< a JSON object with name and arguments as members, see Members
    arguments,  ///< a JSON object: the arguments
    parameters, ///< any number of Syntax::parameter
    keywords,   ///< Python keyword arguments, up to their closing parenthesis: city='Oslo', days=3
    dictionary, ///< {key:value,...} with bare keys; strings stand between Syntax::string_mark
    code,  ///< a program, up to the end of the section: the argument Code::member of the function Code::name
    key,   ///< in a parameter: its name
    kind,  ///< in a parameter: a word that tells its type, see Syntax::text_kinds
    value, ///< in a parameter: its value, up to the next text
};

enum class Presence : uint8_t { required, optional };

/// A fixed text and what follows it.
struct Part {
    std::string_view text = {};
    Slot slot = Slot::none;
    Presence presence = Presence::required; ///< optional: text and slot may be missing together
};

using Pattern = std::vector<Part>;

/// What stands where a call's id stands in Slot::object.
enum class CallId : uint8_t {
    absent,
    index,  ///< a string: "0" for the first call of the turn
    random, ///< a string of nine letters and digits
};

/// The members of Slot::object in all spellings; the first of each is the one to write.
struct Members {
    std::vector<std::string_view> name = {"name"};
    std::vector<std::string_view> arguments = {"arguments", "parameters"};
    std::vector<std::string_view> id = {"id"};
    CallId written_id = CallId::absent;
};

enum class Brackets : uint8_t { none, allowed, required };

/// How a family writes a second call.
enum class Parallel : uint8_t {
    none,     ///< it does not
    calls,    ///< in the same section
    sections, ///< in a section of its own
};

/// A stretch of output that holds calls: open [ call separator call ] close.
struct Section {
    /// All spellings, the first is the one to write. None: the calls begin with nothing in front of them, and
    /// only where a stretch of content could begin; then a call counts only if it names an offered function.
    std::vector<std::string_view> open = {};
    Brackets brackets = Brackets::none; ///< "[" and "]" around the calls
    /// One call, in all forms; the first is the one to write. How a call begins decides which it is. A form
    /// of only Slot::code is the last; then every other form has to name an offered function.
    std::vector<Pattern> calls = {};
    std::string_view separator = {};
    std::string_view close = {}; ///< empty: the section ends with its last call
    Parallel parallel = Parallel::calls;
};

/// Texts around reasoning.
struct ReasoningMarks {
    std::string_view open = {};
    std::string_view close = {};
    /// Whether this model is known to reason. Only then `open` is looked for within content, and a `close`
    /// that nothing opened.
    bool expected = false;
};

enum class Audience : uint8_t {
    user,      ///< the body is content, and may hold sections
    model,     ///< the body is reasoning
    function,  ///< the body is a call's arguments
    developer, ///< the body is dropped
};

/// Who reads a message: the first Route that fits decides.
struct Route {
    std::string_view channel = {}; ///< empty: any, or none named
    /// Empty: see `addressed`. Ending in ".": a beginning that is no part of a function's name.
    std::string_view recipient = {};
    bool addressed = false; ///< a recipient must be named
    Audience audience = Audience::user;
};

/// Output as a sequence of messages: open header body text close.
struct Messages {
    std::vector<std::string_view> open = {};  ///< empty: output is not cut into messages
    std::string_view body = {};               ///< between header and text
    std::vector<std::string_view> close = {}; ///< the first follows what the user reads, the second a call
    std::string_view channel = {};            ///< in a header, before the channel's name; empty: no channels
    std::string_view recipient =
        {}; ///< in a header, before the recipient; empty: the header is the recipient
    std::vector<Route> routes = {};
    std::vector<Pattern> calls = {}; ///< what a function gets, in all forms; the header has named it
    /// How headers are written, for grammars: between `open` and what comes next, where the prompt has not
    /// begun the message; and behind that, for each audience, up to `body`.
    std::string_view role = {};
    std::string_view model_header = {}; ///< empty: no messages to the model itself
    std::string_view user_header = {};
    std::string_view preamble_header = {}; ///< of what the user reads before a call; empty: as the others
    std::vector<Pattern> function_headers =
        {}; ///< in all forms; none: calls are sections of a user's message
    std::vector<std::string_view> json_body =
        {}; ///< what may stand between a header and `body` where the text is JSON
};

/// The function that is meant where a model writes a program instead of naming a function.
struct Code {
    std::vector<std::string_view> names = {}; ///< the first of these that is offered, or the first
    std::string_view member = "code";
};

/// By what a family is known. All of `all` and none of `none` stand in the template; or, where no family's
/// texts do, the vocabulary has one of `tokens`.
struct Signs {
    std::vector<std::string_view> all = {};
    std::vector<std::string_view> none = {};
    std::vector<std::string_view> tokens = {};
};

/// Whether tools were offered, so that calls may come.
enum class Calls : uint8_t { none, expected };

/// One model family's way to write.
struct Syntax {
    std::string_view name = {}; ///< "hermes", "kimi_k2", ...
    Signs signs = {};
    std::vector<ReasoningMarks> reasoning =
        {};                           ///< known where a stretch of content could begin; see `expected`
    bool call_ends_reasoning = false; ///< a section may open inside reasoning and ends it
    std::vector<Section> sections = {};
    Members members = {};
    Pattern parameter = {}; ///< of Slot::parameters
    std::vector<std::string_view> text_kinds =
        {}; ///< what Slot::kind says of a string; anything else is JSON
    std::vector<std::string_view> other_kinds = {}; ///< what it says of JSON, for grammars
    std::string_view verbatim_open = {}; ///< a value may stand between these, then nothing in it is a mark
    std::string_view verbatim_close = {};
    std::string_view string_mark = {}; ///< around strings in Slot::dictionary
    Code code = {};
    Messages messages = {};
    std::vector<std::string_view> hidden = {}; ///< protocol without meaning here, never shown

    /// Every text of the protocol once, without the white space at its ends. Without `Calls::expected` those
    /// that a parser looks for where no tools were offered.
    [[nodiscard]] std::vector<std::string_view> markers(Calls calls) const;

    /// Whether a token's text is one of markers(), or a part of one. Such a control token has to be decoded
    /// as text for the parser, which otherwise would not see it; any other must not, for a parser that looks
    /// for no calls would let their marks through.
    [[nodiscard]] bool is_marker(std::string_view token, Calls calls) const;
};

/// All families, in the order in which their signs are looked for. The last one, "generic", fits every
/// model. Static, immutable.
const std::vector<Syntax>& syntaxes();

/// nullptr: no family of this name.
const Syntax* find_syntax(std::string_view name);

} // namespace etna::chat::output
