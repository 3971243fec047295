// What keeps an answer to a form or to some tokens, by the names of OpenAI, vLLM and llama.cpp: it is kept or
// refused with its member, never left out in silence.
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace etna;
using server::Json;
using test::FakeAnswer;
using test::FakeService;

namespace {

constexpr const char* completions = "/v1/completions";
constexpr const char* chats = "/v1/chat/completions";
constexpr const char* plain_template = "{% for m in messages %}{{ m.content }}{% endfor %}";
constexpr const char* calling_template =
    "{% for m in messages %}{{ m.content }}{% endfor %}{# <tool_call> #}";

/// A body for the path, with more members.
std::string asked(const std::string& path, const std::string& more) {
    const std::string prompt =
        path == chats ? R"("messages": [{"role": "user", "content": "Once"}])" : R"("prompt": "Once")";
    return "{" + prompt + R"(, "max_tokens": 100, "temperature": 0, )" + more + "}";
}

FakeAnswer ask(FakeService& service, const std::string& path, const std::string& more) {
    return service.post(path, asked(path, more));
}

FakeAnswer ask_strictly(FakeService& service, const std::string& path, const std::string& more) {
    return service.ask({.method = "POST",
                        .path = path,
                        .headers = {{"host", "127.0.0.1"}, {"etna-strict", "1"}},
                        .body = asked(path, more)});
}

std::string text_of(const FakeAnswer& answer) {
    CAPTURE(answer.body);
    REQUIRE(answer.status == 200);
    const Json choice = etna::parse_json(answer.body)["choices"][0];
    return (choice.contains("text") ? choice["text"] : choice["message"]["content"]).get<std::string>();
}

std::string ignored(const FakeAnswer& answer) {
    const auto header = answer.headers.find("etna-ignored");
    return header == answer.headers.end() ? "" : header->second;
}

/// The error of a refusal; checks that it is one.
Json refused(const FakeAnswer& answer) {
    CAPTURE(answer.body);
    CHECK(answer.status == 400);
    return etna::parse_json(answer.body).value("error", Json::object());
}

} // namespace

TEST_CASE("an answer is kept to the schema of a json_object") {
    FakeService service({.chat_template = plain_template});
    for (const char* path : {chats, completions}) {
        const auto with = [&](const std::string& schema, const std::string& more = "") {
            return ask(service, path,
                       R"("response_format": {"type": "json_object", "schema": )" + schema + "}" + more);
        };
        CHECK(etna::parse_json(text_of(with(R"({"const": {"a": 1}})"))) == Json({{"a", 1}}));
        CHECK(etna::parse_json(text_of(with(R"({"enum": ["red"]})"))) == "red");
        const std::string unenforceable =
            R"({"type": "array", "items": {"enum": [{}]}, "uniqueItems": true})";
        CHECK(refused(with(unenforceable))["param"] == "response_format.schema");
        CHECK(with(unenforceable, R"(, "etna": {"schema": "lenient"})").status == 200);
        CHECK(refused(with("5"))["param"] == "response_format.schema");
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
    const std::string named = "response_format.json_schema.schema#/properties/a/uniqueItems";
    for (const char* path : {chats, completions}) {
        for (const char* more : {"", R"(, "stream": true)"}) {
            const FakeAnswer answer = ask(service, path, format + lenient + more);
            CAPTURE(path, more, answer.body);
            CHECK(answer.status == 200);
            CHECK(ignored(answer) == named);
            CHECK(ignored(ask(service, path, format + lenient + R"(, "odd": 1)")) == "odd, " + named);
        }
        CHECK(ask_strictly(service, path, format + lenient).status == 200); // it was asked for
        CHECK(ignored(ask(service, path, R"("guided_json": )" + schema + lenient)) ==
              "guided_json#/properties/a/uniqueItems");
        CHECK(ignored(ask(service, path, R"("guided_json": {"type": "null"})" + lenient)).empty());
    }
    for (const char* more : {"", R"(, "stream": true)", R"(, "background": true)"}) {
        const FakeAnswer answer =
            service.post("/v1/responses", R"({"input": "Go", "max_output_tokens": 60, "text": {"format":
                {"type": "json_schema", "name": "n", "schema": )" +
                                              schema + "}}" + lenient + more + "}");
        CAPTURE(more, answer.body);
        CHECK(answer.status == 200);
        CHECK(ignored(answer) == "text.format.schema#/properties/a/uniqueItems");
    }
}

TEST_CASE("etna-ignored names the keywords that lenient schemas of tools drop, as the request has them") {
    FakeService service({.chat_template = calling_template});
    const std::string parameters = R"({"type": "object", "required": ["a"], "additionalProperties": false,
        "properties": {"a": {"type": "array", "items": {"enum": [{}]}, "uniqueItems": true}}})";
    const std::string lenient = R"(, "etna": {"schema": "lenient"})";
    CHECK(ignored(ask(service, chats,
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
    CHECK(ignored(answer) == "tools[0].parameters#/properties/a/uniqueItems");
}

TEST_CASE("what nobody knows of a format of the answer is told, and refused by who is strict") {
    FakeService service({.chat_template = plain_template});
    const std::string schema = R"("json_schema": {"name": "n", "schema": {"const": 1})";
    const std::pair<std::string, std::string> formats[] = {
        {R"({"type": "text", "odd": 1})", "response_format.odd"},
        {R"({"type": "text", "schema": {"const": 1}})", "response_format.schema"},
        {R"({"type": "json_schema", )" + schema + R"(}, "schema": {}})", "response_format.schema"},
        {R"({"type": "json_schema", )" + schema + R"(, "odd": 1}})", "response_format.json_schema.odd"}};
    for (const char* path : {chats, completions}) {
        for (const auto& [format, unknown] : formats) {
            CAPTURE(path, format);
            CHECK(ignored(ask(service, path, "\"response_format\": " + format)) == unknown);
            const Json error = refused(ask_strictly(service, path, "\"response_format\": " + format));
            CHECK(error["param"] == unknown);
            CHECK(error["code"] == "unknown_parameter");
        }
        CHECK(ask_strictly(service, path,
                           R"("response_format": {"type": "json_schema", )" + schema +
                               R"(, "strict": true, "description": "d"}})")
                  .status == 200);
    }
}

TEST_CASE("an answer is kept to what any of the names says, and to one of them alone") {
    FakeService service({.chat_template = plain_template});
    const std::vector<std::string> members = {
        R"("grammar": "root ::= \"1\"")",
        R"("json_schema": {"const": 1})",
        R"("response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"const": 1}}})",
        R"("guided_regex": "1")",
        R"("guided_choice": ["1"])",
        R"("structured_outputs": {"json": {"const": 1}})"};
    for (const char* path : {chats, completions}) {
        for (std::size_t i = 0; i < members.size(); ++i) {
            CAPTURE(path, members[i]);
            const FakeAnswer answer = ask_strictly(service, path, members[i]);
            CHECK(text_of(answer) == "1");
            CHECK(ignored(answer).empty());
            for (std::size_t other = i + 1; other < members.size(); ++other) {
                const Json error = refused(ask(service, path, members[i] + ", " + members[other]));
                CHECK(error["message"].get<std::string>().find("beside another format") != std::string::npos);
            }
        }
        CHECK(refused(ask(service, path, R"("grammar": 5)"))["param"] == "grammar");
        CHECK(refused(ask(service, path, R"("grammar": "root ::= \"1\"", "grammar_lazy": true)"))["param"] ==
              "grammar_lazy");
    }
}

TEST_CASE("a schema of any name is written without white space where that is asked for") {
    FakeService service({.chat_template = plain_template});
    const std::string schema = R"({"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"], )"
                               R"("additionalProperties": false})";
    const std::string compact = R"("disable_any_whitespace": true)";
    const std::string structured = R"(, "structured_outputs": {)" + compact + "}";
    const std::string format =
        R"("response_format": {"type": "json_schema", "json_schema": {"schema": )" + schema + "}}";
    const std::string object = R"("response_format": {"type": "json_object", "schema": )" + schema + "}";
    const std::string spaces = R"(, "logit_bias": {"220": 100})"; // would stand wherever they may
    for (const char* path : {chats, completions}) {
        const auto text = [&](const std::string& more) { return text_of(ask(service, path, more + spaces)); };
        CHECK(text(format) != R"({"a":1})");
        CHECK(text(format + structured) == R"({"a":1})");
        CHECK(text(object + structured) == R"({"a":1})");
        CHECK(text(R"("guided_json": )" + schema + structured) == R"({"a":1})");
        CHECK(text(R"("structured_outputs": {"json": )" + schema + ", " + compact + "}") == R"({"a":1})");
        const FakeAnswer wrong = ask(service, path, R"("structured_outputs": {"disable_any_whitespace": 1})");
        CHECK(refused(wrong)["param"] == "structured_outputs.disable_any_whitespace");
    }
}

TEST_CASE("what is wrong with a schema, a grammar or an expression is told with its member") {
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
    for (const char* path : {chats, completions}) {
        for (const auto& [member, place] : mistakes) {
            CAPTURE(path, member);
            const Json error = refused(ask(service, path, member));
            CHECK(error["param"] == place);
            CHECK(error["message"].get<std::string>().starts_with(place + ": "));
        }
    }
}

TEST_CASE("what can be done about a form that cannot be kept to is told") {
    FakeService service({.chat_template = plain_template});
    const std::pair<std::string, std::string> mistakes[] = {
        {R"x("guided_regex": "(?=a)")x", "; say it without"},
        {R"("grammar": "root ::= root \"a\" | \"b\"")",
         "; let it begin with something else: `list ::= item list` instead of `list ::= list item`"},
        {R"("json_schema": {"multipleOf": 0.12345678912345})",
         "; choose a smaller one, or one with fewer digits before its last zeros"},
        {R"("json_schema": {"uniqueItems": true})",
         "; let `items` be strings, numbers or an `enum`, leave it out, or have such keywords left out "
         "(`etna.schema`: \"lenient\")"},
        {R"("guided_regex": "7", "allowed_token_ids": [300])",
         "; take away what bans tokens, such as logit_bias and min_tokens"}};
    for (const char* path : {chats, completions}) {
        for (const auto& [member, hint] : mistakes) {
            const std::string message = refused(ask(service, path, member))["message"].get<std::string>();
            CAPTURE(path, member, message);
            CHECK(message.ends_with(hint));
            CHECK(message.find(hint) == message.rfind(hint));
        }
    }
}

TEST_CASE("a schema's numbers are kept with all digits, or refused") {
    FakeService service({.chat_template = plain_template});
    for (const char* path : {chats, completions}) {
        const auto with = [&](const std::string& schema) {
            return ask(service, path,
                       R"("response_format": {"type": "json_object", "schema": )" + schema + "}");
        };
        for (const std::string schema :
             {R"({"const": 12345678901234567890123})", R"({"enum": [1, [{"a": 0.1234567890123456789}]]})",
              R"({"anyOf": [{"type": "number", "minimum": 0.1234567890123456789, "maximum": 1}]})"}) {
            const std::string message = refused(with(schema))["message"].get<std::string>();
            CAPTURE(schema, message);
            CHECK(message.find("in `") != std::string::npos);
            CHECK(message.find("with more than 17 digits") != std::string::npos);
        }
        CHECK(text_of(with(R"({"const": 12345678901234567890})")) == "12345678901234567890");
        CHECK(text_of(with(R"({"const": 0.30000000000000004})")) == "0.30000000000000004");
        CHECK(text_of(with(R"({"const": 1.50e1, "default": 3.14159265358979323846})")) == "15");
        CHECK(text_of(with(R"({"const": 1, "enum": [1], "x": 3.14159265358979323846})")) == "1");
        // Seventeen digits tell a double from all others, however few would do.
        CHECK(text_of(with(R"({"const": 1, "multipleOf": 0.10000000000000001})")) == "1");
        CHECK(text_of(with(R"({"const": 1000000000000000000000})")) == "1000000000000000000000");
        // A member's name is no keyword, but what stands in its schema is.
        CHECK(with(R"({"properties": {"minimum": {"const": 1, "default": 0.1234567890123456789}}})").status ==
              200);
        CHECK(with(R"({"properties": {"properties": {"const": 0.1234567890123456789}}})").status == 400);
    }
}

TEST_CASE("an answer has no token but those that are allowed") {
    FakeService service({.chat_template = plain_template});
    const auto ids = [&](const std::string& more) {
        std::set<int> different;
        for (int seed = 0; seed < 5; ++seed) {
            const FakeAnswer answer = service.post(
                completions, R"({"prompt": "Once", "max_tokens": 20, "detokenize": false, "seed": )" +
                                 std::to_string(seed) + ", " + more + "}");
            CAPTURE(answer.body);
            REQUIRE(answer.status == 200);
            const Json choice = etna::parse_json(answer.body)["choices"][0];
            CHECK(choice["finish_reason"] == "length"); // the model's end is not among them
            for (const Json& token : choice["token_ids"])
                different.insert(token.get<int>());
        }
        return different;
    };
    CHECK(ids(R"("allowed_token_ids": [300, 301])") == std::set<int>{300, 301});
    CHECK(ids(R"("allowed_token_ids": [300], "logit_bias": {"302": 100})") == std::set<int>{300});
    for (const char* path : {chats, completions}) {
        const auto param = [&](const std::string& more) {
            return refused(ask(service, path, more))["param"];
        };
        CHECK(param(R"("allowed_token_ids": [])") == "allowed_token_ids");
        CHECK(param(R"("allowed_token_ids": [512])") == "allowed_token_ids");
        CHECK(param(R"("allowed_token_ids": ["300"])") == "allowed_token_ids");
        CHECK(param(R"("allowed_token_ids": 300)") == "allowed_token_ids");
        const Json none =
            refused(ask(service, path, R"("allowed_token_ids": [300], "logit_bias": {"300": -100})"));
        CHECK(none["message"].get<std::string>().find("bans every token") != std::string::npos);
        CHECK(ask_strictly(service, path, R"("allowed_token_ids": null)").status == 200);
    }
}

TEST_CASE("bans and log-probabilities that cannot be had are refused") {
    FakeService service({.chat_template = plain_template});
    for (const char* path : {chats, completions}) {
        for (const auto& [name, value] : {std::pair<std::string, std::string>("bad_words", R"(["dog"])"),
                                          {"logprob_token_ids", "[300]"}}) {
            const Json error = refused(ask(service, path, "\"" + name + "\": " + value));
            CHECK(error["param"] == name);
            CHECK(error["code"] == "unsupported_parameter");
            CHECK(ask_strictly(service, path, "\"" + name + "\": []").status == 200);
        }
    }
}
