#include "tests/generate/calls.hpp"

#include "core/base/json.hpp"
#include "core/grammar/until.hpp"
#include "tests/generate/schema_check.hpp"
#include "tests/support/catch.hpp"

#include <random>

namespace etna::test::calls {

using namespace generate;
using output::Ending;
using output::Start;
using output::Syntax;

const std::string_view tools = R"([
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

const std::map<std::string, Json>& schemas() {
    static const std::map<std::string, Json> all = [] {
        std::map<std::string, Json> table;
        for (const Json& tool : etna::parse_json(tools))
            table[tool["function"]["name"]] = tool["function"].value("parameters", Json::object());
        return table;
    }();
    return all;
}

Tokens::Tokens(const Syntax& syntax, Marks marks) {
    for (int byte = 0; byte < 256; ++byte) {
        texts.emplace_back(1, static_cast<char>(byte));
        bytes.push_back(byte == grammar::control_byte ? "" : texts.back());
    }
    for (const char* const word : {"\": ", "ab", "\"}", "{\"", "</", "celsius", "\n", ", "}) {
        texts.emplace_back(word);
        bytes.emplace_back(word);
    }
    for (const auto mark : syntax.markers(output::Calls::expected)) {
        if (marks == Marks::spelled || mark.size() < 5 || control.contains(mark))
            continue;
        const auto token = static_cast<TokenId>(texts.size());
        control.emplace(mark, token);
        texts.emplace_back(mark);
        bytes.push_back(grammar::control_text(token));
    }
}

Walked walk(const std::shared_ptr<const grammar::Grammar>& grammar, const Tokens& tokens, uint32_t seed) {
    constexpr int tokens_max = 700;
    constexpr std::string_view likely = "\"}])<>/|,:\n";
    std::mt19937 random(seed);
    grammar::GrammarMatcher walk(grammar);
    Walked walked;
    for (int i = 0; i < tokens_max; ++i) {
        if (walk.may_end() && (walk.is_over().value() || random() % 4 == 0)) {
            walked.is_whole = true;
            return walked;
        }
        std::vector<TokenId> allowed;
        std::vector<TokenId> preferred;
        const grammar::TokenMask& mask = *walk.mask().value();
        for (TokenId token = 0; token < tokens.texts.size(); ++token) {
            if (!mask.allows(token))
                continue;
            allowed.push_back(token);
            if (token >= 256 || likely.find(tokens.texts[token]) != std::string_view::npos)
                preferred.push_back(token);
        }
        if (allowed.empty())
            FAIL("lost after " << walked.text);
        const auto& from = !preferred.empty() && random() % 2 == 0 ? preferred : allowed;
        const TokenId token = from[random() % from.size()];
        walked.text += tokens.texts[token];
        walk.accept(token);
    }
    return walked;
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
        REQUIRE(test::misfit(schema->second, arguments, schema->second).empty());
    }
}

test::Fed read(const Syntax& syntax, const Walked& walked) {
    return test::feed(syntax, {.start = start_of(syntax), .tools = tools}, walked.text, {},
                      walked.is_whole ? Ending::complete : Ending::cut_off);
}

bool fits(const std::shared_ptr<const grammar::Grammar>& grammar, std::string_view text) {
    grammar::GrammarMatcher walk(grammar);
    for (const char c : text) {
        const auto token = static_cast<TokenId>(static_cast<unsigned char>(c));
        if (!walk.mask().value()->allows(token))
            return false;
        walk.accept(token);
    }
    return walk.may_end();
}

std::string replaced(std::string text, std::string_view old, std::string_view by) {
    for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + by.size()))
        text.replace(at, old.size(), by);
    return text;
}

std::string trimmed(std::string_view mark) {
    const std::size_t first = mark.find_first_not_of('\n');
    return std::string(mark.substr(first, mark.find_last_not_of('\n') + 1 - first));
}

std::optional<grammar::Reasoning> reasoning_in(const Syntax& syntax, std::string_view text, bool is_open) {
    for (const auto& marks : syntax.reasoning) {
        grammar::Reasoning one = {
            .open = trimmed(marks.open), .close = trimmed(marks.close), .is_open = is_open};
        if (is_open || text.find(one.open) != std::string_view::npos)
            return one;
    }
    return std::nullopt;
}

} // namespace etna::test::calls
