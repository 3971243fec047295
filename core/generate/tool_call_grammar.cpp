#include "core/generate/tool_call_grammar.hpp"

#include "core/grammar/schema/json_text.hpp"
#include "core/jinja/json.hpp"
#include "core/output/markers.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::generate {
namespace {

using namespace describe;
using namespace output;

constexpr std::string_view any_arguments = R"({"type": "object"})";
/// Any JSON object that a parser accepts: RFC 8259 without lone surrogates, with numbers in range and limited
/// white space. A schema would allow only one spelling of each string, which breaks models that escape more
/// than they must.
constexpr std::string_view any_json_object = R"gbnf(
root ::= object
object ::= "{" ws (member (ws "," ws member)*)? ws "}"
member ::= string ws ":" ws value
array ::= "[" ws (value (ws "," ws value)*)? ws "]"
value ::= object | array | string | number | "true" | "false" | "null"
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" unit))* "\""
unit ::= [0-9abcefABCEF] hex hex hex | [dD] [0-7] hex hex | [dD] [89abAB] hex hex "\\u" [dD] [c-fC-F] hex hex
hex ::= [0-9a-fA-F]
number ::= "-"? ("0" | [1-9] [0-9]{0,63}) ("." [0-9]{1,64})? ([eE] [-+]? [0-9]{1,2})?
ws ::= [ \t\r\n]{0,64}
)gbnf";
constexpr std::string_view any_texts = R"({"type": "object", "additionalProperties": {"type": "string"}})";
/// As OpenAI's API has it: "omitting `parameters` defines a function with an empty parameter list".
constexpr std::string_view no_arguments =
    R"({"type": "object", "properties": {}, "additionalProperties": false})";
constexpr std::string_view word = "[A-Za-z0-9_.-]{1,64}";

/// Returns the call pattern to write; null if the section holds only programs.
const Pattern* call_pattern(const Section& section) {
    const auto found = std::find_if(section.calls.begin(), section.calls.end(), [](const Pattern& pattern) {
        return pattern.front().field != Field::code;
    });
    return found == section.calls.end() ? nullptr : &*found;
}

bool has_programs(const Section& section) {
    return std::any_of(section.calls.begin(), section.calls.end(),
                       [](const Pattern& pattern) { return pattern.front().field == Field::code; });
}

/// The given white space, or none.
Description maybe(std::string_view blanks) {
    return blanks.empty() ? literal("")
                          : Description{.notation = Notation::choices, .choices = {"", std::string(blanks)}};
}

grammar::JsonKinds kinds_of(uint8_t types) {
    constexpr std::pair<uint8_t, grammar::JsonKinds> all[] = {
        {string_type, grammar::json_string},
        {integer_type, grammar::json_integer},
        {number_type, grammar::json_number_kinds},
        {boolean_type, grammar::json_true | grammar::json_false},
        {object_type, grammar::json_object},
        {array_type, grammar::json_array},
        {null_type, grammar::json_null}};
    grammar::JsonKinds kinds = 0;
    for (const auto& [type, of_type] : all)
        kinds |= (types & type) != 0 ? of_type : grammar::JsonKinds{0};
    return kinds == 0 ? grammar::json_any : kinds;
}

/// Returns whether the parser would mistake a part of the name for the text that follows it.
bool is_ambiguous_name(const Syntax& syntax, std::string_view name) {
    for (const Section& section : syntax.sections) {
        const Pattern* const pattern = section.origin == Origin::own ? call_pattern(section) : nullptr;
        bool is_after_name = false;
        for (std::size_t i = 0; pattern != nullptr && i < pattern->size(); ++i) {
            const std::string_view text = trim((*pattern)[i].text);
            if (is_after_name && !text.empty() && name.find(text) != std::string_view::npos)
                return true;
            is_after_name = is_after_name || (*pattern)[i].field == Field::name;
        }
    }
    return false;
}

/// Returns a regular expression for this text alone.
std::string escaped(std::string_view text) {
    std::string pattern;
    for (const char byte : text) {
        const auto code = static_cast<unsigned char>(byte);
        const bool is_plain = std::isalnum(code) != 0 || code >= 0x80;
        pattern += is_plain ? std::string(1, byte) : fmt::format("\\x{:02x}", code);
    }
    return pattern;
}

Description after_colon() {
    return {.notation = Notation::choices, .choices = {"", " "}};
}

Description member_name(std::string_view name) {
    return sequence({literal(fmt::format("\"{}\":", name)), after_colon()});
}

} // namespace

Result<ToolCallGrammar> ToolCallGrammar::create(const AnswerForm& form) {
    ETNA_TRY(Tools tools, Tools::create(form.tools));
    ETNA_TRY(std::vector<Function> functions, functions_of(form.tools));
    if (form.required && !form.required->empty())
        std::erase_if(functions, [&](const Function& one) { return one.name != *form.required; });
    for (const Function& one : functions) {
        if (!is_function_name(one.name) || is_ambiguous_name(form.syntax, one.name)) {
            return unsupported(fmt::format("invalid function name `{}`", one.name),
                               "use letters, digits, - and _");
        }
    }
    return ToolCallGrammar(form, std::move(tools), std::move(functions));
}

bool ToolCallGrammar::has_strict() const {
    return std::any_of(functions_.begin(), functions_.end(),
                       [this](const Function& one) { return must_match_schema(one); });
}

/// Arguments must match the schema if strict, and always if a call is required.
bool ToolCallGrammar::must_match_schema(const Function& function) const {
    return function.is_strict || form_->is_strict || form_->required.has_value();
}

/// Returns whether a model may write a program instead of arguments: true for the first of Code::names that
/// is offered, unless its arguments must match their schema.
bool ToolCallGrammar::takes_programs(const Function& function) const {
    const auto offered = [this](std::string_view name) { return tools_.offers(name); };
    const auto& names = form_->syntax.code.names;
    const auto program_function = std::find_if(names.begin(), names.end(), offered);
    return program_function != names.end() && *program_function == function.name &&
           !must_match_schema(function);
}

/// Text up to a marker that ends the program.
Description ToolCallGrammar::program() const {
    std::vector<std::string> markers = opening_markers();
    for (const auto* const some : {&form_->syntax.messages.open, &form_->syntax.messages.close})
        markers.insert(markers.end(), some->begin(), some->end());
    return sequence({blanks(), regex("[^ \\n\\r\\t]"), free_text(std::move(markers))});
}

/// A protocol marker, with optional white space at its ends. A marker that ends the answer is not part of it.
Description ToolCallGrammar::marker(std::string_view text) const {
    const std::string_view middle = trim(text);
    if (middle.empty())
        return maybe(text);
    const auto begin = static_cast<std::size_t>(middle.data() - text.data());
    const bool is_end = form_->is_end_token && form_->is_end_token(middle);
    return sequence({maybe(text.substr(0, begin)), literal(is_end ? std::string_view() : middle),
                     maybe(text.substr(begin + middle.size()))});
}

/// White space in a call outside its arguments. Models know their calls with spaces, so that only arguments
/// are compact.
Description ToolCallGrammar::space() const {
    return {.notation = Notation::space, .spacing = std::max(form_->spacing, grammar::JsonSpacing::single)};
}

std::vector<std::string> ToolCallGrammar::opening_markers() const {
    std::vector<std::string> all;
    for (const Section& section : form_->syntax.sections) {
        for (const std::string_view open : section.open) {
            if (section.origin == Origin::own)
                all.emplace_back(trim(open));
        }
    }
    return all;
}

/// Returns a regular expression for what begins a call after the section's opening marker and white space.
std::string ToolCallGrammar::start_of_call(const Section& section, Place place) const {
    std::vector<std::string> names;
    if (const auto offered = functions_of(form_->tools)) {
        for (const Function& function : *offered)
            names.push_back(escaped(function.name));
    }
    if (place == Place::content) // any other name begins a call there, too
        names.emplace_back(R"([\x00-\x08\x0b\x0c\x0e-\x1f!#-&*+\-.\/0-9:=?@A-Z\\\^_a-z|~\x7f])");
    const std::string name = fmt::format("{}", fmt::join(names, "|"));
    std::vector<std::string> all = {R"([\[])", "```"};
    if (!trim(section.close).empty())
        all.push_back(escaped(trim(section.close)));
    for (const Pattern& pattern : section.calls) {
        for (const PatternPart& part : pattern) {
            const std::string_view text = trim(part.text);
            const bool is_object = part.field == Field::object || part.field == Field::arguments ||
                                   part.field == Field::dictionary;
            if (!text.empty()) {
                all.push_back(escaped(text));
            } else if (part.field != Field::code) {
                all.push_back(is_object ? R"(\{)" : name);
            }
            if (text.empty() || part.presence == Presence::required)
                break;
        }
    }
    return fmt::format("({})", fmt::join(all, "|"));
}

std::vector<grammar::Mention> ToolCallGrammar::mentions(Place place) const {
    std::vector<grammar::Mention> all;
    for (const Section& section : form_->syntax.sections) {
        if (section.origin != Origin::own || (has_programs(section) && place == Place::content))
            continue; // any text is a program
        for (const std::string_view open : section.open)
            all.push_back({.mark = std::string(trim(open)), .not_before = start_of_call(section, place)});
    }
    return all;
}

/// With strict arguments, that is any JSON object, or list if calls may come in one. Otherwise JSON is
/// allowed as content if its first member does not belong to a call, because the parser treats it as content
/// too.
std::string ToolCallGrammar::start_of_unmarked_call() const {
    const Syntax& syntax = form_->syntax;
    constexpr std::string_view white_space_text = R"([ \n\r\t]*)";
    std::vector<std::string_view> members = syntax.members.name;
    members.insert(members.end(), syntax.members.arguments.begin(), syntax.members.arguments.end());
    std::vector<std::string> names;
    for (const Function& function : functions_)
        names.push_back(escaped(function.name));
    std::vector<std::string> all;
    for (const Section& section : syntax.sections) {
        if (section.origin != Origin::own || !section.open.empty())
            continue;
        const bool has_brackets = section.brackets != Brackets::none;
        if (section.calls.front().front().field == Field::name) {
            all.push_back(fmt::format(R"(({}){}\{{)", fmt::join(names, "|"), white_space_text));
        } else if (has_strict()) {
            all.push_back(has_brackets ? R"([\{\[])" : R"(\{)");
        } else {
            all.push_back(fmt::format(R"~({}\{{{}"({})")~",
                                      has_brackets ? fmt::format(R"~((\[{})?)~", white_space_text) : "",
                                      white_space_text, fmt::join(members, "|")));
        }
    }
    return fmt::format("{}", fmt::join(all, "|"));
}

std::optional<Description> ToolCallGrammar::sections_in(Place place) const {
    std::vector<Description> all;
    for (const Section& one : form_->syntax.sections) {
        if (one.origin != Origin::own || (one.open.empty() && place == Place::reasoning))
            continue;
        if (const Pattern* const written = call_pattern(one))
            all.push_back(section(one, section_calls(one, call(one, *written))));
        const bool may_be_program =
            std::any_of(functions_.begin(), functions_.end(),
                        [this](const Function& function) { return takes_programs(function); });
        if (may_be_program && has_programs(one) && place == Place::content)
            all.push_back(section(one, program()));
    }
    return all.empty() ? std::nullopt : std::optional(either(std::move(all)));
}

Description ToolCallGrammar::section(const Section& section, Description calls) const {
    const bool ends_itself = section.close.empty() && section.brackets != Brackets::required;
    std::vector<Description> opens;
    opens.reserve(section.open.size());
    for (const std::string_view open : section.open)
        opens.push_back(marker(open));
    std::vector<Description> all;
    if (!opens.empty())
        all.push_back(either(std::move(opens)));
    all.push_back(std::move(calls));
    all.push_back(marker(section.close));
    Description one = sequence(std::move(all));
    const bool follows_itself =
        section.parallel == Parallel::sections ||
        (section.parallel == Parallel::calls && ends_itself && section.separator.empty());
    if (!form_->allows_parallel || !follows_itself || section.open.empty())
        return one;
    return sequence({one, repeated(sequence({blanks(), one}))});
}

/// The calls of one section.
Description ToolCallGrammar::section_calls(const Section& section, Description call) const {
    const bool allows_more = form_->allows_parallel && section.parallel == Parallel::calls;
    const Description comma =
        section.brackets == Brackets::required ? literal(trim(section.separator)) : literal(",");
    const Description more = repeated(sequence({space(), comma, space(), call}));
    const Description list = sequence(
        {literal("["), space(), call, form_->allows_parallel ? more : literal(""), space(), literal("]")});
    if (section.brackets == Brackets::required)
        return list;
    const bool may_follow = allows_more && !(section.close.empty() && section.separator.empty());
    Description calls =
        may_follow ? sequence({call, repeated(sequence({marker(section.separator), call}))}) : call;
    return section.brackets == Brackets::none ? calls : either({std::move(calls), list});
}

Description ToolCallGrammar::call(const Section& section, const Pattern& pattern) const {
    std::vector<Description> all;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const PatternPart& part = pattern[i];
        std::vector<Description> here = {marker(part.text)};
        if (part.field == Field::name) {
            std::vector<Description> ways;
            ways.reserve(functions_.size());
            for (const Function& function : functions_)
                ways.push_back(
                    sequence({literal(function.name), after_name(section, pattern, i + 1, function)}));
            here.push_back(either(std::move(ways)));
        } else if (part.field == Field::object) {
            here.push_back(call_object());
        } else if (part.field != Field::none) {
            here.push_back(regex(word));
        }
        all.push_back(part.presence == Presence::required ? sequence(std::move(here))
                                                          : optional(sequence(std::move(here))));
        if (part.field == Field::name)
            break;
    }
    return sequence(std::move(all));
}

Description ToolCallGrammar::after_name(const Section& section, const Pattern& pattern, std::size_t part,
                                        const Function& function) const {
    std::vector<Description> all;
    for (; part < pattern.size(); ++part) {
        Description here =
            sequence({marker(pattern[part].text), field(section, pattern, pattern[part].field, function)});
        if (pattern[part].presence != Presence::required)
            here = optional(std::move(here));
        all.push_back(std::move(here));
    }
    return sequence(std::move(all));
}

Description ToolCallGrammar::field(const Section& section, const Pattern& pattern, Field field,
                                   const Function& function) const {
    switch (field) {
    case Field::none:
        return literal("");
    case Field::arguments:
        return arguments(function, {});
    case Field::parameters:
        return arguments(function, tagged_writing(section, pattern, function));
    case Field::keywords:
        return arguments(function, {.form = grammar::Form::keywords});
    case Field::dictionary:
        return arguments(function, {.form = grammar::Form::dictionary,
                                    .string_mark = std::string(form_->syntax.string_delimiter)});
    default:
        return regex(word);
    }
}

/// An object with the name and the arguments; an id is optional if the model family writes one.
Description ToolCallGrammar::call_object() const {
    const Members& members = form_->syntax.members;
    const Description comma = sequence({literal(","), space()});
    std::vector<Description> calls;
    calls.reserve(functions_.size());
    for (const Function& function : functions_) {
        calls.push_back(sequence({literal(fmt::format("\"{}\"", grammar::json_escaped(function.name))), comma,
                                  member_name(members.arguments.front()), arguments(function, {})}));
    }
    std::vector<Description> all = {literal("{"), space()};
    if (members.written_id == CallId::index) {
        const Description id = sequence({member_name(members.id.front()), regex("\"[0-9]{1,3}\"")});
        all.push_back(optional(sequence({id, comma})));
    }
    all.push_back(member_name(members.name.front()));
    all.push_back(either(std::move(calls)));
    if (members.written_id == CallId::random) {
        const Description id = sequence({member_name(members.id.front()), regex("\"[A-Za-z0-9]{9}\"")});
        all.push_back(optional(sequence({comma, id})));
    }
    all.push_back(space());
    all.push_back(literal("}"));
    return sequence(std::move(all));
}

/// Schema for arguments that need not match the function's. If a parameter's name is written twice, its end
/// is known only for the function's own parameters.
std::string ToolCallGrammar::relaxed_schema(const Function& function, const grammar::Writing& writing) {
    if (writing.form != grammar::Form::tagged || !writing.text_kinds.empty())
        return std::string(any_arguments);
    const auto names = std::count_if(writing.member.begin(), writing.member.end(),
                                     [](const auto& part) { return part.slot == grammar::TaggedSlot::name; });
    if (names < 2)
        return std::string(any_texts);
    std::vector<std::string> members;
    members.reserve(function.names.size());
    for (const std::string& name : function.names)
        members.push_back(fmt::format(R"("{}": {{"type": "string"}})", grammar::json_escaped(name)));
    return fmt::format(R"({{"type": "object", "properties": {{{}}}, "additionalProperties": false}})",
                       fmt::join(members, ", "));
}

Description ToolCallGrammar::arguments(const Function& function, grammar::Writing writing) const {
    if (!must_match_schema(function) && writing.form == grammar::Form::json)
        return {.notation = Notation::gbnf, .text = std::string(any_json_object)};
    Description schema = {.notation = Notation::json_schema,
                          .text = relaxed_schema(function, writing),
                          .is_lenient = form_->is_lenient,
                          .spacing = grammar::JsonSpacing::any,
                          .root = grammar::Root::object,
                          .writing = std::move(writing)};
    if (must_match_schema(function)) {
        const jinja::Value& parameters = function.parameters;
        const bool has_schema = !parameters.is(jinja::Type::undefined) && !parameters.is(jinja::Type::none);
        schema.text = has_schema ? jinja::compact_json(parameters) : std::string(no_arguments);
        schema.place = function.schema_path;
        schema.spacing = form_->spacing;
    } else {
        schema.writing.read_as.clear();
        schema.writing.others_read_as = grammar::json_string;
    }
    return schema;
}

grammar::Writing ToolCallGrammar::tagged_writing(const Section& section, const Pattern& pattern,
                                                 const Function& function) const {
    using grammar::TaggedSlot;
    const Syntax& syntax = form_->syntax;
    grammar::Writing writing = {.form = grammar::Form::tagged};
    bool is_after_value = false;
    for (const PatternPart& part : section.parameter) {
        const TaggedSlot field = part.field == Field::key     ? TaggedSlot::name
                                 : part.field == Field::kind  ? TaggedSlot::kind
                                 : part.field == Field::value ? TaggedSlot::value
                                                              : TaggedSlot::none;
        if (is_after_value)
            writing.not_in_strings.emplace_back(trim(part.text));
        is_after_value = field == TaggedSlot::value;
        writing.member.push_back({.text = std::string(part.text), .slot = field});
    }
    const bool is_strict = must_match_schema(function);
    const auto terminators = value_terminators(section, pattern, function.names);
    writing.close_is_optional = !is_strict && !terminators.empty();
    for (const std::string& text : terminators) {
        // Strict strings may be further constrained, so that fewer and shorter texts are excluded from them.
        const auto is_in = [&text](std::string_view close) { return text.starts_with(close); };
        const auto closes = call_closes(section, pattern);
        if (!is_strict || std::none_of(closes.begin(), closes.end(), is_in))
            writing.not_in_strings.push_back(text);
    }
    if (is_strict && !terminators.empty()) {
        for (const std::string_view close : call_closes(section, pattern))
            writing.not_in_strings.emplace_back(close);
    }
    if (!syntax.verbatim_open.empty())
        writing.not_in_strings.emplace_back(syntax.verbatim_open);
    writing.text_kinds.assign(syntax.text_kinds.begin(), syntax.text_kinds.end());
    writing.other_kinds.assign(syntax.other_kinds.begin(), syntax.other_kinds.end());
    if (const Tools::Parameters* const types = tools_.parameters_of(function.name)) {
        for (const auto& [name, of_name] : *types)
            writing.read_as.emplace_back(name, kinds_of(of_name));
    }
    return writing;
}

Description json_body(const Messages& messages) {
    std::vector<Description> all = {literal("")};
    for (const std::string_view text : messages.json_body)
        all.push_back(literal(text));
    return either(std::move(all));
}

Description ToolCallGrammar::messages() const {
    const Messages& messages = form_->syntax.messages;
    std::vector<Description> all;
    for (const Function& function : functions_) {
        std::vector<Description> headers;
        for (const Pattern& header : messages.function_headers) {
            std::vector<Description> parts;
            for (const PatternPart& part : header) {
                parts.push_back(literal(part.text));
                if (part.field == Field::name)
                    parts.push_back(literal(function.name));
            }
            headers.push_back(sequence(std::move(parts)));
        }
        Description content = messages.calls.empty() ? ToolCallGrammar(*form_, tools_, {function}).sections()
                                                     : after_name({}, messages.calls.front(), 0, function);
        if (!messages.calls.empty() && takes_programs(function))
            content = either({std::move(content), program()});
        all.push_back(sequence(
            {either(std::move(headers)), json_body(messages), literal(messages.body), std::move(content)}));
    }
    return either(std::move(all));
}

} // namespace etna::generate
