// Structured outputs and token constraints, in the fields of OpenAI, vLLM and llama.cpp: each is enforced, or
// refused with its field, never ignored silently.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

constexpr const char* calling_template =
    "{% for m in messages %}{{ m.content }}{% endfor %}{# <tool_call> #}";

/// A body for the path, with more fields.
std::string body_for(const std::string& path, const std::string& more) {
    const std::string prompt =
        path == chats_path ? R"("messages": [{"role": "user", "content": "Once"}])" : R"("prompt": "Once")";
    return "{" + prompt + R"(, "max_tokens": 100, "temperature": 0, )" + more + "}";
}

FakeAnswer post_with(FakeService& service, const std::string& path, const std::string& more) {
    return service.post(path, body_for(path, more));
}

FakeAnswer post_strictly_with(FakeService& service, const std::string& path, const std::string& more) {
    return post_strictly(service, path, body_for(path, more));
}

/// The text or the message content of the first choice.
std::string answer_text(const FakeAnswer& answer) {
    const Json choice = choice_of(answer);
    return (choice.contains("text") ? choice["text"] : choice["message"]["content"]).get<std::string>();
}

} // namespace

TEST_CASE("an answer is constrained by the schema of a json_object") {
    FakeService service({.chat_template = plain_template});
    for (const char* path : {chats_path, completions_path}) {
        const auto with = [&](const std::string& schema, const std::string& more = "") {
            return post_with(service, path,
                             R"("response_format": {"type": "json_object", "schema": )" + schema + "}" +
                                 more);
        };
        CHECK(etna::parse_json(answer_text(with(R"({"const": {"a": 1}})"))) == Json({{"a", 1}}));
        CHECK(etna::parse_json(answer_text(with(R"({"enum": ["red"]})"))) == "red");
        const std::string unenforceable =
            R"({"type": "array", "items": {"enum": [{}]}, "uniqueItems": true})";
        CHECK(error_of(with(unenforceable))["param"] == "response_format.schema");
        CHECK(with(unenforceable, R"(, "etna": {"schema": "lenient"})").status == 200);
        CHECK(error_of(with("5"))["param"] == "response_format.schema");
    }
}

TEST_CASE("etna-ignored names the keywords that a lenient schema drops") {
    FakeService service({.chat_template = plain_template});
    const std::string schema = R"({"type": "object", "required": ["a"], "additionalProperties": false,
        "properties": {"a": {"type": "array", "items": {"enum": [{}]}, "uniqueItems": true}}})";
    const std::string lenient = R"(, "etna": {"schema": "lenient"})";
    const std::string format =
        R"("response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": )" + schema +
        "}}";
    const std::string dropped = "response_format.json_schema.schema#/properties/a/uniqueItems";
    for (const char* path : {chats_path, completions_path}) {
        for (const char* more : {"", R"(, "stream": true)"}) {
            const FakeAnswer answer = post_with(service, path, format + lenient + more);
            CAPTURE(path, more, answer.body);
            CHECK(answer.status == 200);
            CHECK(ignored_fields(answer) == dropped);
            CHECK(ignored_fields(post_with(service, path, format + lenient + R"(, "odd": 1)")) ==
                  "odd, " + dropped);
        }
        CHECK(post_strictly_with(service, path, format + lenient).status == 200); // the request enabled it
        CHECK(ignored_fields(post_with(service, path, R"("guided_json": )" + schema + lenient)) ==
              "guided_json#/properties/a/uniqueItems");
        CHECK(
            ignored_fields(post_with(service, path, R"("guided_json": {"type": "null"})" + lenient)).empty());
    }
    for (const char* more : {"", R"(, "stream": true)", R"(, "background": true)"}) {
        const FakeAnswer answer =
            service.post("/v1/responses", R"({"input": "Go", "max_output_tokens": 60, "text": {"format":
                {"type": "json_schema", "name": "n", "schema": )" +
                                              schema + "}}" + lenient + more + "}");
        CAPTURE(more, answer.body);
        CHECK(answer.status == 200);
        CHECK(ignored_fields(answer) == "text.format.schema#/properties/a/uniqueItems");
    }
}

TEST_CASE("etna-ignored names the keywords that lenient tool schemas drop, with their paths in the request") {
    FakeService service({.chat_template = calling_template});
    const std::string parameters = R"({"type": "object", "required": ["a"], "additionalProperties": false,
        "properties": {"a": {"type": "array", "items": {"enum": [{}]}, "uniqueItems": true}}})";
    const std::string lenient = R"(, "etna": {"schema": "lenient"})";
    CHECK(ignored_fields(post_with(service, chats_path,
                                   R"("tools": [{"type": "function", "function": {"name": "f", "strict": true,
                          "parameters": )" +
                                       parameters + "}}]" + lenient)) ==
          "tools[0].function.parameters#/properties/a/uniqueItems");
    const FakeAnswer answer =
        service.post("/v1/responses",
                     R"({"input": "Go", "max_output_tokens": 60, "tools": [{"type": "function", "name": "f",
                             "strict": true, "parameters": )" +
                         parameters + "}]" + lenient + "}");
    CAPTURE(answer.body);
    CHECK(ignored_fields(answer) == "tools[0].parameters#/properties/a/uniqueItems");
}

TEST_CASE("unknown members of response_format are reported, and refused with etna-strict") {
    FakeService service({.chat_template = plain_template});
    const std::string schema = R"("json_schema": {"name": "n", "schema": {"const": 1})";
    const std::pair<std::string, std::string> formats[] = {
        {R"({"type": "text", "odd": 1})", "response_format.odd"},
        {R"({"type": "text", "schema": {"const": 1}})", "response_format.schema"},
        {R"({"type": "json_schema", )" + schema + R"(}, "schema": {}})", "response_format.schema"},
        {R"({"type": "json_schema", )" + schema + R"(, "odd": 1}})", "response_format.json_schema.odd"}};
    for (const char* path : {chats_path, completions_path}) {
        for (const auto& [format, unknown] : formats) {
            CAPTURE(path, format);
            CHECK(ignored_fields(post_with(service, path, "\"response_format\": " + format)) == unknown);
            const Json error = error_of(post_strictly_with(service, path, "\"response_format\": " + format));
            CHECK(error["param"] == unknown);
            CHECK(error["code"] == "unknown_parameter");
        }
        CHECK(post_strictly_with(service, path,
                                 R"("response_format": {"type": "json_schema", )" + schema +
                                     R"(, "strict": true, "description": "d"}})")
                  .status == 200);
    }
}

TEST_CASE("each constraint field is enforced, and two at once are refused") {
    FakeService service({.chat_template = plain_template});
    const std::vector<std::string> members = {
        R"("grammar": "root ::= \"1\"")",
        R"("json_schema": {"const": 1})",
        R"("response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"const": 1}}})",
        R"("guided_regex": "1")",
        R"("guided_choice": ["1"])",
        R"("structured_outputs": {"json": {"const": 1}})"};
    for (const char* path : {chats_path, completions_path}) {
        for (std::size_t i = 0; i < members.size(); ++i) {
            CAPTURE(path, members[i]);
            const FakeAnswer answer = post_strictly_with(service, path, members[i]);
            CHECK(answer_text(answer) == "1");
            CHECK(ignored_fields(answer).empty());
            for (std::size_t other = i + 1; other < members.size(); ++other) {
                const Json error = error_of(post_with(service, path, members[i] + ", " + members[other]));
                CHECK(error["message"].get<std::string>().find(
                          "cannot be combined with another output format") != std::string::npos);
            }
        }
        CHECK(error_of(post_with(service, path, R"("grammar": 5)"))["param"] == "grammar");
        CHECK(error_of(post_with(service, path,
                                 R"("grammar": "root ::= \"1\"", "grammar_lazy": true)"))["param"] ==
              "grammar_lazy");
    }
}

TEST_CASE("disable_any_whitespace applies to the schema of every field") {
    FakeService service({.chat_template = plain_template});
    const std::string schema = R"({"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"], )"
                               R"("additionalProperties": false})";
    const std::string compact = R"("disable_any_whitespace": true)";
    const std::string structured = R"(, "structured_outputs": {)" + compact + "}";
    const std::string format =
        R"("response_format": {"type": "json_schema", "json_schema": {"schema": )" + schema + "}}";
    const std::string object = R"("response_format": {"type": "json_object", "schema": )" + schema + "}";
    const std::string spaces = R"(, "logit_bias": {"220": 100})"; // adds a space wherever one is allowed
    for (const char* path : {chats_path, completions_path}) {
        const auto text = [&](const std::string& more) {
            return answer_text(post_with(service, path, more + spaces));
        };
        CHECK(text(format) != R"({"a":1})");
        CHECK(text(format + structured) == R"({"a":1})");
        CHECK(text(object + structured) == R"({"a":1})");
        CHECK(text(R"("guided_json": )" + schema + structured) == R"({"a":1})");
        CHECK(text(R"("structured_outputs": {"json": )" + schema + ", " + compact + "}") == R"({"a":1})");
        const FakeAnswer wrong =
            post_with(service, path, R"("structured_outputs": {"disable_any_whitespace": 1})");
        CHECK(error_of(wrong)["param"] == "structured_outputs.disable_any_whitespace");
    }
}

TEST_CASE("JSON has at most one space or newline, unless the request or the operator says otherwise") {
    const std::string schema = R"({"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"], )"
                               R"("additionalProperties": false})";
    const std::string format =
        R"("response_format": {"type": "json_schema", "json_schema": {"schema": )" + schema + "}}";
    const std::string blanks =
        R"(, "max_tokens": 300, "logit_bias": {"13": 100, "220": 90})"; // newlines and spaces if allowed
    const auto text = [&](FakeService& service, const std::string& path, const std::string& more) {
        return answer_text(post_with(service, path, more + blanks));
    };
    const auto with = [](const char* amount) {
        return std::string(R"(, "etna": {"json_whitespace": ")") + amount + "\"}";
    };
    const auto is_single = [](const std::string& json) {
        return json.starts_with("{\n\"a\":") && json.ends_with("1\n}");
    };
    const auto is_indented = [](const std::string& json) {
        return json.find("\n ") != std::string::npos || json.find("\n\t") != std::string::npos;
    };
    FakeService service({.chat_template = plain_template});
    FakeService::Options options{.chat_template = plain_template};
    options.service.limits.json_spacing = grammar::JsonSpacing::any;
    FakeService spacious(options);
    for (const char* path : {chats_path, completions_path}) {
        CAPTURE(path);
        CHECK(is_single(text(service, path, format)));
        CHECK(text(service, path, format + with("compact")) == R"({"a":1})");
        CHECK(is_single(text(service, path, format + with("single"))));
        CHECK(is_indented(text(service, path, format + with("any"))));
        CHECK(is_indented(text(spacious, path, format)));
        CHECK(is_single(text(spacious, path, format + with("single"))));
        CHECK(error_of(post_with(service, path, format + with("two")))["param"] == "etna.json_whitespace");
        // A client's own grammar is taken as it is.
        CHECK(text(service, path, R"("grammar": "root ::= \"a\" [ \\n]{3} \"b\"")").size() == 5);
    }
}

TEST_CASE("an invalid schema, grammar or expression is refused with its field") {
    FakeService service({.chat_template = plain_template});
    const std::pair<std::string, std::string> mistakes[] = {
        {R"x("guided_regex": "(?=a)")x", "guided_regex"},
        {R"("guided_grammar": "root ::= <x>")", "guided_grammar"},
        {R"("guided_json": {"uniqueItems": true})", "guided_json"},
        {R"("grammar": "root ::= <x>")", "grammar"},
        {R"("json_schema": {"uniqueItems": true})", "json_schema"},
        {R"("structured_outputs": {"regex": "["})", "structured_outputs.regex"},
        {R"("structured_outputs": {"grammar": "start: item"})", "structured_outputs.grammar"},
        {R"("response_format": {"type": "json_schema", "json_schema": {"schema": {"uniqueItems": true}}})",
         "response_format.json_schema.schema"}};
    for (const char* path : {chats_path, completions_path}) {
        for (const auto& [member, path_of_error] : mistakes) {
            CAPTURE(path, member);
            const Json error = error_of(post_with(service, path, member));
            CHECK(error["param"] == path_of_error);
            CHECK(error["message"].get<std::string>().starts_with(path_of_error + ": "));
        }
    }
}

TEST_CASE("an error in a constraint ends with a hint") {
    FakeService service({.chat_template = plain_template});
    const std::pair<std::string, std::string> mistakes[] = {
        {R"x("guided_regex": "(?=a)")x", "; rewrite it without"},
        {R"("grammar": "root ::= root \"a\" | \"b\"")",
         "; use right recursion: `list ::= item list` instead of `list ::= list item`"},
        {R"("json_schema": {"multipleOf": 0.12345678912345})",
         "; choose a smaller divisor, or drop the keyword with a lenient schema (`etna.schema`: "
         "\"lenient\")"},
        {R"("json_schema": {"uniqueItems": true})",
         "; let `items` be strings, numbers or an `enum`, leave it out, or have such keywords left out "
         "(`etna.schema`: \"lenient\")"},
        {R"("guided_regex": "7", "allowed_token_ids": [300])",
         "; relax the options that ban tokens, such as logit_bias and min_tokens"}};
    for (const char* path : {chats_path, completions_path}) {
        for (const auto& [member, hint] : mistakes) {
            const std::string message =
                error_of(post_with(service, path, member))["message"].get<std::string>();
            CAPTURE(path, member, message);
            CHECK(message.ends_with(hint));
            CHECK(message.find(hint) == message.rfind(hint));
        }
    }
}

TEST_CASE("a schema's numbers keep all digits, or are refused") {
    FakeService service({.chat_template = plain_template});
    for (const char* path : {chats_path, completions_path}) {
        const auto with = [&](const std::string& schema) {
            return post_with(service, path,
                             R"("response_format": {"type": "json_object", "schema": )" + schema + "}");
        };
        for (const std::string schema :
             {R"({"const": 12345678901234567890123})", R"({"enum": [1, [{"a": 0.1234567890123456789}]]})",
              R"({"anyOf": [{"type": "number", "minimum": 0.1234567890123456789, "maximum": 1}]})"}) {
            const std::string message = error_of(with(schema))["message"].get<std::string>();
            CAPTURE(schema, message);
            CHECK(message.find("in `") != std::string::npos);
            CHECK(message.find("with more than 17 digits") != std::string::npos);
        }
        CHECK(answer_text(with(R"({"const": 12345678901234567890})")) == "12345678901234567890");
        CHECK(answer_text(with(R"({"const": 0.30000000000000004})")) == "0.30000000000000004");
        CHECK(answer_text(with(R"({"const": 1.50e1, "default": 3.14159265358979323846})")) == "15");
        CHECK(answer_text(with(R"({"const": 1, "enum": [1], "x": 3.14159265358979323846})")) == "1");
        // Seventeen digits identify a double, even if fewer would do.
        CHECK(answer_text(with(R"({"const": 1, "multipleOf": 0.10000000000000001})")) == "1");
        CHECK(answer_text(with(R"({"const": 1000000000000000000000})")) == "1000000000000000000000");
        // A property's name is not a keyword, but the names in its schema are.
        CHECK(with(R"({"properties": {"minimum": {"const": 1, "default": 0.1234567890123456789}}})").status ==
              200);
        CHECK(with(R"({"properties": {"properties": {"const": 0.1234567890123456789}}})").status == 400);
    }
}

TEST_CASE("an answer has only allowed tokens") {
    FakeService service({.chat_template = plain_template});
    const auto ids = [&](const std::string& more) {
        std::set<int> ids_seen;
        for (int seed = 0; seed < 5; ++seed) {
            const FakeAnswer answer = service.post(
                completions_path, R"({"prompt": "Once", "max_tokens": 20, "detokenize": false, "seed": )" +
                                      std::to_string(seed) + ", " + more + "}");
            CAPTURE(answer.body);
            REQUIRE(answer.status == 200);
            const Json choice = etna::parse_json(answer.body)["choices"][0];
            CHECK(choice["finish_reason"] == "length"); // the end token is not allowed
            for (const Json& token : choice["token_ids"])
                ids_seen.insert(token.get<int>());
        }
        return ids_seen;
    };
    CHECK(ids(R"("allowed_token_ids": [300, 301])") == std::set<int>{300, 301});
    CHECK(ids(R"("allowed_token_ids": [300], "logit_bias": {"302": 100})") == std::set<int>{300});
    for (const char* path : {chats_path, completions_path}) {
        const auto param = [&](const std::string& more) {
            return error_of(post_with(service, path, more))["param"];
        };
        CHECK(param(R"("allowed_token_ids": [])") == "allowed_token_ids");
        CHECK(param(R"("allowed_token_ids": [512])") == "allowed_token_ids");
        CHECK(param(R"("allowed_token_ids": ["300"])") == "allowed_token_ids");
        CHECK(param(R"("allowed_token_ids": 300)") == "allowed_token_ids");
        const Json nothing_allowed =
            error_of(post_with(service, path, R"("allowed_token_ids": [300], "logit_bias": {"300": -100})"));
        CHECK(nothing_allowed["message"].get<std::string>().find("bans every token") != std::string::npos);
        CHECK(post_strictly_with(service, path, R"("allowed_token_ids": null)").status == 200);
    }
}

TEST_CASE("unsupported bans and log-probabilities are refused") {
    FakeService service({.chat_template = plain_template});
    for (const char* path : {chats_path, completions_path}) {
        for (const auto& [name, value] : {std::pair<std::string, std::string>("bad_words", R"(["dog"])"),
                                          {"logprob_token_ids", "[300]"}}) {
            const Json error = error_of(post_with(service, path, "\"" + name + "\": " + value));
            CHECK(error["param"] == name);
            CHECK(error["code"] == "unsupported_parameter");
            CHECK(post_strictly_with(service, path, "\"" + name + "\": []").status == 200);
        }
    }
}
