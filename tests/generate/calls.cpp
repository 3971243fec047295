#include "tests/generate/calls.hpp"

#include "core/base/json.hpp"
#include "core/grammar/lark.hpp"
#include "core/grammar/vocabulary.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/values.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <regex>

namespace etna::test::calls {

using namespace generate;
using output::Ending;
using output::Start;
using output::Syntax;

namespace {

bool has_type(const Json& value, const std::string& type) {
    if (type == "integer")
        return value.is_number() && std::floor(value.get<double>()) == value.get<double>();
    if (type == "number")
        return value.is_number();
    return type == value.type_name();
}

std::string violated_text_keyword(const Json& schema, const std::string& text) {
    const auto length = static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
    }));
    if (length < schema.value("minLength", std::size_t{0}) ||
        length > schema.value("maxLength", std::size_t{1} << 20))
        return "length";
    if (schema.contains("pattern") &&
        !std::regex_search(text, std::regex(schema["pattern"].get<std::string>())))
        return "pattern";
    if (schema.contains("x-etna-lark")) {
        grammar::Language language;
        const auto start = grammar::lark(language, schema["x-etna-lark"].get<std::string>());
        if (!start || !language.is_nullable(language.next(*start, text)))
            return "x-etna-lark";
    }
    return {};
}

std::string violated_object_keyword(const Json& schema, const Json& value, const Json& root) {
    for (const Json& name : schema.value("required", Json::array())) {
        if (!value.contains(name.get<std::string>()))
            return "required";
    }
    const Json properties = schema.value("properties", Json::object());
    const Json others = schema.value("additionalProperties", Json(true));
    for (const auto& [name, member] : value.items()) {
        const std::string keyword =
            violated_keyword(properties.contains(name) ? properties[name] : others, member, root);
        if (!keyword.empty())
            return std::string(name).append("/").append(keyword);
    }
    return {};
}

} // namespace

std::string violated_keyword(const Json& schema, const Json& value, const Json& root) {
    if (schema.is_boolean())
        return schema.get<bool>() ? "" : "false";
    if (schema.contains("$ref")) {
        return violated_keyword(root.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1))),
                                value, root);
    }
    if (schema.contains("type")) {
        const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
        if (std::none_of(types.begin(), types.end(),
                         [&](const Json& type) { return has_type(value, type.get<std::string>()); }))
            return "type";
    }
    if (schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
        return "enum";
    if (schema.contains("anyOf") &&
        std::none_of(schema["anyOf"].begin(), schema["anyOf"].end(),
                     [&](const Json& one) { return violated_keyword(one, value, root).empty(); }))
        return "anyOf";
    if (value.is_number() && (value.get<double>() < schema.value("minimum", -1e300) ||
                              value.get<double>() > schema.value("maximum", 1e300)))
        return "range";
    if (value.is_string())
        return violated_text_keyword(schema, value.get<std::string>());
    if (value.is_object())
        return violated_object_keyword(schema, value, root);
    for (const Json& item : value.is_array() ? value : Json::array()) {
        const std::string wrong = violated_keyword(schema.value("items", Json(true)), item, root);
        if (!wrong.empty())
            return "items/" + wrong;
    }
    return value.is_array() && value.size() > schema.value("maxItems", std::size_t{1} << 20) ? "maxItems"
                                                                                             : "";
}

const std::string_view tools_json = R"([
  {"type": "function", "function": {"name": "get_weather", "strict": true, "parameters": {"type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 7},
                   "unit": {"enum": ["celsius", "fahrenheit"]}},
    "required": ["city", "unit"], "additionalProperties": false}}},
  {"type": "function", "function": {"name": "search-docs_2", "strict": true, "parameters": {"type": "object",
    "properties": {"query": {"type": "string", "minLength": 1, "maxLength": 8}, "ok": {"type": "boolean"},
                   "filters": {"type": "object", "properties": {
                       "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
                       "age": {"type": ["integer", "null"]}}, "required": ["age"]},
                   "n": {"type": "number", "minimum": 0, "maximum": 100},
                   "code": {"type": "string", "pattern": "^[A-Z]{2}[0-9]$"}},
    "required": ["query", "ok"]}}},
  {"type": "function", "function": {"name": "mixed", "strict": true, "parameters": {"type": "object",
    "properties": {"any": {"anyOf": [{"type": "string", "minLength": 2}, {"type": "integer", "maximum": 9}]},
                   "one": {"$ref": "#/$defs/one"}, "digit": {"enum": ["1", "2", 3, true, "x"]},
                   "free": {}, "nothing": {"type": ["null", "string"]}},
    "required": ["any", "digit"], "additionalProperties": {"type": "boolean"},
    "$defs": {"one": {"type": "string", "maxLength": 5}}}}},
  {"type": "function", "function": {"name": "edit", "strict": true, "parameters": {"type": "object",
    "properties": {"input": {"type": "string", "x-etna-lark": "start: (tag | TEXT)~0..12\ntag: \"<\" (tag | /[\\/a-z|\"]/~0..9) \">\"\nTEXT: /[^<>]/ | \"\\n\""}},
    "required": ["input"], "additionalProperties": false}}},
  {"type": "function", "function": {"name": "now", "strict": true}}
])";

const std::vector<jinja::Value> tools = values_of(tools_json);

std::vector<jinja::Value> lenient_tools() {
    Json all = etna::parse_json(tools_json);
    for (Json& tool : all)
        tool["function"].erase("strict");
    return values_of(etna::dump_json(all));
}

const std::map<std::string, Json>& schemas() {
    static const std::map<std::string, Json> all = [] {
        std::map<std::string, Json> table;
        for (const Json& tool : etna::parse_json(tools_json))
            table[tool["function"]["name"]] = tool["function"].value("parameters", Json::object());
        return table;
    }();
    return all;
}

Tokens::Tokens(const Syntax& syntax, Markers markers) {
    for (int byte = 0; byte < 256; ++byte) {
        texts.emplace_back(1, static_cast<char>(byte));
        bytes.push_back(byte == grammar::control_byte ? "" : texts.back());
    }
    for (const char* const word : {"\": ", "ab", "\"}", "{\"", "</", "celsius", "\n", ", "}) {
        texts.emplace_back(word);
        bytes.emplace_back(word);
    }
    for (const auto marker : syntax.markers(output::Calls::expected)) {
        if (markers == Markers::spelled || marker.size() < 5 || control.contains(marker))
            continue;
        const auto token = static_cast<TokenId>(texts.size());
        control.emplace(marker, token);
        texts.emplace_back(marker);
        bytes.push_back(grammar::control_text(token));
    }
}

Sample sample_answer(const std::shared_ptr<const grammar::Grammar>& grammar, const Tokens& tokens,
                     uint32_t seed) {
    constexpr int tokens_max = 700;
    constexpr std::string_view likely = "\"}])<>/|,:\n";
    std::mt19937 random(seed);
    grammar::GrammarMatcher matcher(grammar);
    Sample sample;
    for (int i = 0; i < tokens_max; ++i) {
        if (matcher.may_end() && (matcher.is_over().value() || random() % 4 == 0)) {
            sample.is_complete = true;
            return sample;
        }
        std::vector<TokenId> allowed;
        std::vector<TokenId> preferred;
        const grammar::TokenMask& mask = *matcher.mask().value();
        for (TokenId token = 0; token < tokens.texts.size(); ++token) {
            if (!mask.allows(token))
                continue;
            allowed.push_back(token);
            if (token >= 256 || likely.find(tokens.texts[token]) != std::string_view::npos)
                preferred.push_back(token);
        }
        if (allowed.empty())
            FAIL("no token is allowed after " << sample.text);
        const auto& from = !preferred.empty() && random() % 2 == 0 ? preferred : allowed;
        const TokenId token = from[random() % from.size()];
        sample.text += tokens.texts[token];
        matcher.accept(token);
    }
    return sample;
}

Start start_of(const Syntax& syntax) {
    return syntax.messages.open.empty() ? Start::content : Start::header;
}

std::shared_ptr<const grammar::Grammar> grammar_of(const AnswerForm& form, grammar::GrammarCache& grammars) {
    const auto description = describe_answer(form);
    REQUIRE(description.has_value());
    REQUIRE(description->has_value());
    auto made = grammars.make(**description);
    INFO((made ? "" : made.error().message));
    REQUIRE(made.has_value());
    return *made;
}

void check_calls(const std::vector<output::Call>& calls) {
    for (const output::Call& call : calls) {
        CAPTURE(call.name, call.arguments);
        const auto schema = schemas().find(call.name);
        REQUIRE(schema != schemas().end());
        const Json arguments = etna::parse_json(call.arguments);
        REQUIRE(arguments.is_object());
        REQUIRE(violated_keyword(schema->second, arguments, schema->second).empty());
    }
}

test::Fed read(const Syntax& syntax, const Sample& sample) {
    return test::feed(syntax, {.start = start_of(syntax), .tools = tools, .has_strict_calls = true},
                      sample.text, {}, sample.is_complete ? Ending::complete : Ending::cut_off);
}

bool fits(const std::shared_ptr<const grammar::Grammar>& grammar, std::string_view text) {
    grammar::GrammarMatcher matcher(grammar);
    for (const char c : text) {
        const auto token = static_cast<TokenId>(static_cast<unsigned char>(c));
        if (!matcher.mask().value()->allows(token))
            return false;
        matcher.accept(token);
    }
    return matcher.may_end();
}

std::string replaced(std::string text, std::string_view old, std::string_view by) {
    for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + by.size()))
        text.replace(at, old.size(), by);
    return text;
}

std::string trimmed(std::string_view marker) {
    const std::size_t first = marker.find_first_not_of('\n');
    return std::string(marker.substr(first, marker.find_last_not_of('\n') + 1 - first));
}

std::optional<grammar::Reasoning> reasoning_in(const Syntax& syntax, std::string_view text, bool is_open) {
    for (const auto& pair : syntax.reasoning) {
        grammar::Reasoning one = {
            .open = trimmed(pair.open), .close = trimmed(pair.close), .is_open = is_open};
        if (is_open || text.find(one.open) != std::string_view::npos)
            return one;
    }
    return std::nullopt;
}

} // namespace etna::test::calls
