#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Syntax of reasoning and tool calls per model family: plain data, sufficient to parse a call and to build a
/// grammar that allows nothing else.
///
/// All texts are static. White space at the ends of a text is that of the family's output; parsers accept any
/// amount of it.
namespace etna::output {

/// Variable part of a call that follows a fixed text.
enum class Field : uint8_t {
    none,
    name,       ///< the function's name, up to the next text
    id,         ///< the call's id, up to the next text
    index,      ///< the call's index in this turn, counted from 0 or 1
    object,     ///< a JSON object with name and arguments as members, see Members
    arguments,  ///< a JSON object: the arguments
    parameters, ///< any number of Section::parameter patterns
    keywords,   ///< Python keyword arguments, up to their closing parenthesis: city='Oslo', days=3
    dictionary, ///< {key:value,...} with bare keys; Syntax::string_delimiter delimits strings
    code,  ///< a program, up to the end of the section: argument Code::member of a function in Code::names
    key,   ///< in a parameter: its name
    kind,  ///< in a parameter: a type word, see Syntax::text_kinds
    value, ///< in a parameter: its value, up to the next text
};

enum class Presence : uint8_t {
    required,
    optional, ///< text and field may both be missing
    expected, ///< as optional, but without it the call must name an offered function
};

/// A fixed text and the field that follows it.
struct PatternPart {
    std::string_view text = {};
    Field field = Field::none;
    Presence presence = Presence::required;
};

using Pattern = std::vector<PatternPart>;

/// Form of a call's id in Field::object.
enum class CallId : uint8_t {
    absent,
    index,  ///< a string: "0" for the first call of the turn
    random, ///< a string of nine letters and digits
};

/// The members of Field::object in all accepted spellings; the first of each is the one that grammars use.
struct Members {
    std::vector<std::string_view> name = {"name"};
    std::vector<std::string_view> arguments = {"arguments", "parameters"};
    std::vector<std::string_view> id = {"id"};
    CallId written_id = CallId::absent;
};

enum class Brackets : uint8_t { none, allowed, required };

/// Form of a second call.
enum class Parallel : uint8_t {
    none,     ///< not supported
    calls,    ///< in the same section
    sections, ///< in a separate section
};

/// Whether a family's models are made to write a section.
enum class Origin : uint8_t {
    own,
    /// A form of other families, or a block of code. It counts only if it is complete and all of its calls
    /// name offered functions, and is content otherwise. Grammars do not describe it.
    foreign,
};

/// A span of output that contains calls: open [ call separator call ] close.
struct Section {
    /// All accepted spellings; grammars use the first. Empty: calls start without a marker, at the possible
    /// start of a span of content or of one of its lines; such calls count only if they name offered
    /// functions. A code fence counts at the start of a line only.
    std::vector<std::string_view> open = {};
    Brackets brackets = Brackets::none; ///< "[" and "]" around the calls
    /// All accepted forms of one call; grammars use the first. The start of a call selects its form. A form
    /// that is only Field::code comes last; the other forms then count only if they name an offered function.
    std::vector<Pattern> calls = {};
    std::string_view separator = {};
    std::string_view close = {}; ///< empty: the section ends with its last call
    Parallel parallel = Parallel::calls;
    Pattern parameter = {}; ///< one element of Field::parameters
    Origin origin = Origin::own;
};

/// Markers around reasoning.
struct ReasoningMarkers {
    std::string_view open = {};
    std::string_view close = {};
    /// Whether this model is known to reason. Only then does the parser look for `open` inside content, and
    /// for a `close` without an `open`.
    bool expected = false;
};

/// Markers around the answer of a model that reasons. They are recognised at the start of the content after
/// reasoning, unless the prompt mentions them; if `expected`, because the template has them, always, and also
/// at the start of the output.
struct AnswerMarkers {
    std::string_view open = {};
    std::string_view close = {};
    bool expected = false;
};

enum class Audience : uint8_t {
    user,      ///< the body is content, and may contain sections
    model,     ///< the body is reasoning
    function,  ///< the body is a call's arguments
    developer, ///< the body is dropped
};

/// Maps a message header to its audience; the first matching Route applies.
struct Route {
    std::string_view channel = {}; ///< empty: any or none
    /// Empty: see `addressed`. Ending in ".": a prefix that is not part of the function's name.
    std::string_view recipient = {};
    bool addressed = false; ///< requires any recipient
    Audience audience = Audience::user;
};

/// Output as a sequence of messages: open header body text close.
struct Messages {
    std::vector<std::string_view> open = {};  ///< empty: output is not split into messages
    std::string_view body = {};               ///< between header and text
    std::vector<std::string_view> close = {}; ///< the first ends a message to the user, the second a call
    std::string_view channel = {};            ///< in a header, before the channel's name; empty: no channels
    std::string_view recipient =
        {}; ///< in a header, before the recipient; empty: the header is the recipient
    std::vector<Route> routes = {};
    std::vector<Pattern> calls = {}; ///< body of a message to a function, in all forms; the header names it
    /// Header texts for grammars. `role` follows `open` if the prompt has not started the message; then, per
    /// audience, the header up to `body`.
    std::string_view role = {};
    std::string_view model_header = {}; ///< reasoning; empty: no such messages
    std::string_view user_header = {};
    std::string_view preamble_header = {}; ///< user text before a call; empty: same as user_header
    std::vector<Pattern> function_headers =
        {}; ///< all forms; empty: calls are sections of a message to the user
    std::vector<std::string_view> json_body =
        {}; ///< texts allowed between a header and `body` if the body is JSON
};

/// The function to call if a model writes a bare program without a function name.
struct Code {
    std::vector<std::string_view> names = {}; ///< the first that is offered, else the first
    std::string_view member = "code";
};

/// Detection rules of a family: the template contains all of `all` and none of `none`. If no family matches
/// the template, the vocabulary contains one of `tokens`.
struct Detection {
    std::vector<std::string_view> all = {};
    std::vector<std::string_view> none = {};
    std::vector<std::string_view> tokens = {};
};

/// Whether tools are offered, so that calls may occur.
enum class Calls : uint8_t { none, expected };

/// Output syntax of one model family.
struct Syntax {
    std::string_view name = {}; ///< "hermes", "kimi_k2", ...
    Detection detection = {};
    std::vector<ReasoningMarkers> reasoning =
        {}; ///< recognised at the possible start of a span of content; see `expected`
    std::vector<AnswerMarkers> answer = {};
    /// An own section with an opening marker may also open inside reasoning, which ends if a complete call of
    /// an offered function follows.
    std::vector<Section> sections = {};
    Members members = {};
    std::vector<std::string_view> text_kinds =
        {}; ///< values of Field::kind that mean a string; any other means JSON
    std::vector<std::string_view> other_kinds = {}; ///< values of Field::kind that mean JSON, for grammars
    std::string_view verbatim_open = {}; ///< optional delimiters of a value, inside which nothing is a marker
    std::string_view verbatim_close = {};
    std::string_view string_delimiter = {}; ///< delimits strings in Field::dictionary
    Code code = {};
    Messages messages = {};
    std::vector<std::string_view> hidden = {}; ///< protocol texts without meaning here, never shown

    /// Returns each protocol text once, trimmed. With `Calls::none`, only those that a parser without tools
    /// looks for.
    [[nodiscard]] std::vector<std::string_view> markers(Calls calls) const;

    /// Whether a token's text is one of markers() or part of one. Such a control token must be decoded to
    /// text, otherwise the parser does not see it. Any other must not be decoded, because a parser without
    /// tools would pass call markers through as content.
    [[nodiscard]] bool is_marker(std::string_view token, Calls calls) const;
};

/// Returns all families, in detection order. The last one, "generic", is the fallback for every model.
/// Static, immutable.
const std::vector<Syntax>& syntaxes();

/// Returns nullptr if no family has this name.
const Syntax* find_syntax(std::string_view name);

/// Whether the vocabulary has a token of exactly this text.
using HasToken = std::function<bool(std::string_view)>;

/// Returns the texts that end a parameter's value although its closing text is missing, in a call of this
/// form: the opening text of a declared parameter, or a closing text of the call and what follows it.
std::vector<std::string> value_terminators(const Section& section, const Pattern& call,
                                           const std::vector<std::string>& declared);

/// Returns the texts that close a call with parameters: its own, and its section's.
std::vector<std::string_view> call_closes(const Section& section, const Pattern& call);

/// Returns the syntax for a model with this template (empty: none) and vocabulary. Never fails: an unknown
/// family gets the generic syntax. Sets `expected` for markers of reasoning and answers that occur in the
/// template or are tokens.
Syntax detect_syntax(std::string_view template_text, const HasToken& has_token);

/// Returns the syntax for a model of syntax `own` if its tools are described in the system message, see
/// AdaptedPrompt::tools_in_text: Hermes syntax for calls, `own` for everything else.
Syntax syntax_for_tools_in_text(Syntax own);

/// The protocol state at the end of the prompt, in which the output starts.
enum class Start : uint8_t {
    content,
    reasoning, ///< the prompt has opened the reasoning
    header,    ///< inside a message header, see Messages
};

/// Returns the protocol state at the end of a rendered prompt.
Start start_after(const Syntax& syntax, std::string_view prompt);

} // namespace etna::output
