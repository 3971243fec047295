#include "core/generate/call_pieces.hpp"

#include "core/generate/pieces.hpp"
#include "core/grammar/schema/json_text.hpp"
#include "core/output/marks.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::generate {
namespace {

using namespace pieces;
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
const Pattern* written_pattern(const Section& section) {
    const auto found = std::find_if(section.calls.begin(), section.calls.end(), [](const Pattern& pattern) {
        return pattern.front().slot != Slot::code;
    });
    return found == section.calls.end() ? nullptr : &*found;
}

bool holds_programs(const Section& section) {
    return std::any_of(section.calls.begin(), section.calls.end(),
                       [](const Pattern& pattern) { return pattern.front().slot == Slot::code; });
}

/// The given white space, or none.
Description maybe(std::string_view blanks) {
    return blanks.empty() ? literal("")
                          : Description{.notation = Notation::choices, .choices = {"", std::string(blanks)}};
}

grammar::JsonKinds kinds_of(uint8_t types) {
    constexpr std::pair<uint8_t, grammar::JsonKinds> all[] = {
        {text_type, grammar::json_string},
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
bool ends_early(const Syntax& syntax, std::string_view name) {
    for (const Section& section : syntax.sections) {
        const Pattern* const pattern = written_pattern(section);
        bool is_behind = false;
        for (std::size_t i = 0; pattern != nullptr && i < pattern->size(); ++i) {
            const std::string_view text = trim((*pattern)[i].text);
            if (is_behind && !text.empty() && name.find(text) != std::string_view::npos)
                return true;
            is_behind = is_behind || (*pattern)[i].slot == Slot::name;
        }
    }
    return false;
}

Description after_colon() {
    return {.notation = Notation::choices, .choices = {"", " "}};
}

Description member_name(std::string_view name) {
    return sequence({literal(fmt::format("\"{}\":", name)), after_colon()});
}

} // namespace

Result<CallWriter> CallWriter::create(const AnswerForm& form) {
    ETNA_TRY(Tools tools, Tools::create(form.tools));
    ETNA_TRY(std::vector<Function> functions, functions_of(form.tools));
    if (form.demanded && !form.demanded->empty())
        std::erase_if(functions, [&](const Function& one) { return one.name != *form.demanded; });
    for (const Function& one : functions) {
        if (!is_function_name(one.name) || ends_early(form.syntax, one.name)) {
            return Error{ErrorKind::unsupported, fmt::format("invalid function name `{}`", one.name),
                         "use letters, digits, - and _"};
        }
    }
    return CallWriter(form, std::move(tools), std::move(functions));
}

bool CallWriter::has_strict() const {
    return std::any_of(functions_.begin(), functions_.end(),
                       [this](const Function& one) { return is_kept(one); });
}

/// Arguments must match the schema if strict, and always if a call is required.
bool CallWriter::is_kept(const Function& function) const {
    return function.is_strict || form_->are_strict || form_->demanded.has_value();
}

/// Returns whether a model may write a program instead of arguments: true for the first of Code::names that
/// is offered, unless its arguments must match their schema.
bool CallWriter::takes_programs(const Function& function) const {
    const auto offered = [this](std::string_view name) { return tools_.offers(name); };
    const auto& names = form_->syntax.code.names;
    const auto taker = std::find_if(names.begin(), names.end(), offered);
    return taker != names.end() && *taker == function.name && !is_kept(function);
}

/// Text up to a marker that ends the program.
Description CallWriter::program() const {
    std::vector<std::string> marks = openings();
    for (const auto* const some : {&form_->syntax.messages.open, &form_->syntax.messages.close})
        marks.insert(marks.end(), some->begin(), some->end());
    return sequence({blanks(), regex("[^ \\n\\r\\t]"), free_text(std::move(marks))});
}

/// A protocol marker, with optional white space at its ends. A marker that ends the answer is not part of it.
Description CallWriter::mark(std::string_view text) const {
    const std::string_view middle = trim(text);
    if (middle.empty())
        return maybe(text);
    const auto begin = static_cast<std::size_t>(middle.data() - text.data());
    const bool is_end = form_->is_end && form_->is_end(middle);
    return sequence({maybe(text.substr(0, begin)), literal(is_end ? std::string_view() : middle),
                     maybe(text.substr(begin + middle.size()))});
}

std::vector<std::string> CallWriter::openings() const {
    std::vector<std::string> all;
    for (const Section& section : form_->syntax.sections) {
        for (const std::string_view open : section.open)
            all.emplace_back(trim(open));
    }
    return all;
}

Description CallWriter::sections() const {
    std::vector<Description> all;
    for (const Section& one : form_->syntax.sections) {
        if (const Pattern* const written = written_pattern(one))
            all.push_back(section(one, several(one, any_call(*written))));
        const bool may_be_program =
            std::any_of(functions_.begin(), functions_.end(),
                        [this](const Function& function) { return takes_programs(function); });
        if (may_be_program && holds_programs(one))
            all.push_back(section(one, program()));
    }
    return either(std::move(all));
}

Description CallWriter::section(const Section& section, Description calls) const {
    const bool ends_itself = section.close.empty() && section.brackets != Brackets::required;
    std::vector<Description> opens;
    opens.reserve(section.open.size());
    for (const std::string_view open : section.open)
        opens.push_back(mark(open));
    std::vector<Description> all;
    if (!opens.empty())
        all.push_back(either(std::move(opens)));
    all.push_back(std::move(calls));
    all.push_back(mark(section.close));
    Description one = sequence(std::move(all));
    const bool follows_itself =
        section.parallel == Parallel::sections ||
        (section.parallel == Parallel::calls && ends_itself && section.separator.empty());
    if (!form_->are_parallel || !follows_itself || section.open.empty())
        return one;
    return sequence({one, repeated(sequence({blanks(), one}))});
}

/// The calls of one section.
Description CallWriter::several(const Section& section, Description call) const {
    const bool are_several = form_->are_parallel && section.parallel == Parallel::calls;
    if (section.brackets != Brackets::required) {
        const bool may_follow = are_several && !(section.close.empty() && section.separator.empty());
        if (!may_follow)
            return call;
        return sequence({call, repeated(sequence({mark(section.separator), call}))});
    }
    const Description comma = literal(trim(section.separator));
    const Description more = repeated(sequence({space(), comma, space(), call}));
    return sequence({literal("["), space(), call, are_several ? more : literal(""), space(), literal("]")});
}

Description CallWriter::any_call(const Pattern& pattern) const {
    std::vector<Description> all;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const Part& part = pattern[i];
        std::vector<Description> here = {mark(part.text)};
        if (part.slot == Slot::name) {
            std::vector<Description> ways;
            ways.reserve(functions_.size());
            for (const Function& function : functions_)
                ways.push_back(sequence({literal(function.name), behind_name(pattern, i + 1, function)}));
            here.push_back(either(std::move(ways)));
        } else if (part.slot == Slot::object) {
            here.push_back(any_object());
        } else if (part.slot != Slot::none) {
            here.push_back(regex(word));
        }
        all.push_back(part.presence == Presence::optional ? optional(sequence(std::move(here)))
                                                          : sequence(std::move(here)));
        if (part.slot == Slot::name)
            break;
    }
    return sequence(std::move(all));
}

Description CallWriter::behind_name(const Pattern& pattern, std::size_t part,
                                    const Function& function) const {
    std::vector<Description> all;
    for (; part < pattern.size(); ++part) {
        Description here = sequence({mark(pattern[part].text), slot(pattern[part].slot, function)});
        if (pattern[part].presence == Presence::optional)
            here = optional(std::move(here));
        all.push_back(std::move(here));
    }
    return sequence(std::move(all));
}

Description CallWriter::slot(Slot slot, const Function& function) const {
    switch (slot) {
    case Slot::none:
        return literal("");
    case Slot::arguments:
        return arguments(function, {});
    case Slot::parameters:
        return arguments(function, tagged(function));
    case Slot::keywords:
        return arguments(function, {.form = grammar::Form::keywords});
    case Slot::dictionary:
        return arguments(function, {.form = grammar::Form::dictionary,
                                    .string_mark = std::string(form_->syntax.string_mark)});
    default:
        return regex(word);
    }
}

/// An object with the name and the arguments; an id is optional if the model family writes one.
Description CallWriter::any_object() const {
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
std::string CallWriter::loose_schema(const Function& function, const grammar::Writing& writing) const {
    if (writing.form != grammar::Form::tagged || !writing.text_kinds.empty())
        return std::string(any_arguments);
    const auto& parts = form_->syntax.parameter;
    const auto names =
        std::count_if(parts.begin(), parts.end(), [](const Part& part) { return part.slot == Slot::key; });
    if (names < 2)
        return std::string(any_texts);
    std::vector<std::string> members;
    members.reserve(function.names.size());
    for (const std::string& name : function.names)
        members.push_back(fmt::format(R"("{}": {{"type": "string"}})", grammar::json_escaped(name)));
    return fmt::format(R"({{"type": "object", "properties": {{{}}}, "additionalProperties": false}})",
                       fmt::join(members, ", "));
}

Description CallWriter::arguments(const Function& function, grammar::Writing writing) const {
    if (!is_kept(function) && writing.form == grammar::Form::json)
        return {.notation = Notation::gbnf, .text = std::string(any_json_object)};
    Description schema = {.notation = Notation::json_schema,
                          .text = loose_schema(function, writing),
                          .is_lenient = form_->is_lenient,
                          .root = grammar::Root::object,
                          .writing = std::move(writing)};
    if (is_kept(function)) {
        schema.text = function.parameters.empty() ? std::string(no_arguments) : function.parameters;
        schema.place = function.place;
    } else {
        schema.writing.read_as.clear();
        schema.writing.others_read_as = grammar::json_string;
    }
    return schema;
}

grammar::Writing CallWriter::tagged(const Function& function) const {
    using grammar::TaggedSlot;
    const Syntax& syntax = form_->syntax;
    grammar::Writing writing = {.form = grammar::Form::tagged};
    bool is_behind_value = false;
    for (const Part& part : syntax.parameter) {
        const TaggedSlot slot = part.slot == Slot::key     ? TaggedSlot::name
                                : part.slot == Slot::kind  ? TaggedSlot::kind
                                : part.slot == Slot::value ? TaggedSlot::value
                                                           : TaggedSlot::none;
        if (is_behind_value)
            writing.not_in_strings.emplace_back(trim(part.text));
        is_behind_value = slot == TaggedSlot::value;
        writing.member.push_back({.text = std::string(part.text), .slot = slot});
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

Description CallWriter::messages() const {
    const Messages& messages = form_->syntax.messages;
    std::vector<Description> all;
    for (const Function& function : functions_) {
        std::vector<Description> headers;
        for (const Pattern& header : messages.function_headers) {
            std::vector<Description> parts;
            for (const Part& part : header) {
                parts.push_back(literal(part.text));
                if (part.slot == Slot::name)
                    parts.push_back(literal(function.name));
            }
            headers.push_back(sequence(std::move(parts)));
        }
        Description content = messages.calls.empty() ? CallWriter(*form_, tools_, {function}).sections()
                                                     : behind_name(messages.calls.front(), 0, function);
        if (!messages.calls.empty() && takes_programs(function))
            content = either({std::move(content), program()});
        all.push_back(sequence(
            {either(std::move(headers)), json_body(messages), literal(messages.body), std::move(content)}));
    }
    return either(std::move(all));
}

} // namespace etna::generate
