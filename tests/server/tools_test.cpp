// `tools` and `tool_choice`: which tools a model is offered, and how what is wrong with them is told.
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace etna;
using server::Json;
using test::FakeService;

namespace {

constexpr const char* chats = "/v1/chat/completions";
/// Shows which tools the model is offered, and has the mark of a call, so that its syntax is known.
constexpr const char* naming_tools =
    "{% if tools %}({% for t in tools %}{{ t.function.name }} {% endfor %}){% endif %}"
    "{% for m in messages %}{{ m.content }}{% endfor %}{# <tool_call> #}";

std::string talk(const std::string& choice) {
    return R"({"messages": [{"role": "user", "content": "Go."}], "max_tokens": 100, "tools": [
        {"type": "function", "function": {"name": "one"}}, {"type": "function", "function": {"name": "two"}},
        {"type": "function", "function": {"name": "three"}}])" +
           (choice.empty() ? "" : ", \"tool_choice\": " + choice) + "}";
}

std::string allowed(const std::string& mode, const std::string& tools) {
    return R"({"type": "allowed_tools", "allowed_tools": {"mode": ")" + mode + R"(", "tools": [)" + tools +
           "]}}";
}

std::string function(const std::string& name) {
    return R"({"type": "function", "function": {"name": ")" + name + "\"}}";
}

std::string prompt_of(FakeService& service, const std::string& choice) {
    return etna::parse_json(service.post("/apply-template", talk(choice)).body).value("prompt", "none");
}

} // namespace

TEST_CASE("a model is offered the tools that are allowed") {
    FakeService service({.chat_template = naming_tools});
    CHECK(prompt_of(service, "") == "(one two three )Go.");
    CHECK(prompt_of(service, R"("auto")") == "(one two three )Go.");
    CHECK(prompt_of(service, R"("none")") == "Go.");
    CHECK(prompt_of(service, R"("required")").starts_with("(one two three )Go."));
    CHECK(prompt_of(service, function("two")).starts_with("(one two three )Go."));
    CHECK(prompt_of(service, allowed("auto", function("three") + ", " + function("one"))) ==
          "(one three )Go.");
    CHECK(prompt_of(service, allowed("required", function("two"))).starts_with("(two )Go."));
    CHECK(prompt_of(service, allowed("auto", "")) == "Go.");
}

TEST_CASE("a call of a tool that is allowed can be demanded") {
    FakeService service({.chat_template = naming_tools});
    const auto answer = service.post(chats, talk(allowed("required", function("two"))));
    CAPTURE(answer.body);
    REQUIRE(answer.status == 200);
    const Json message = etna::parse_json(answer.body)["choices"][0]["message"];
    REQUIRE(!message["tool_calls"].empty());
    for (const Json& call : message["tool_calls"])
        CHECK(call["function"]["name"] == "two");
}

TEST_CASE("a choice of tools that makes no sense is refused with its place") {
    FakeService service({.chat_template = naming_tools});
    const auto refused = [&](const std::string& choice) {
        const auto answer = service.post(chats, talk(choice));
        CAPTURE(answer.body);
        CHECK(answer.status == 400);
        return etna::parse_json(answer.body).value("error", Json::object()).value("param", "none");
    };
    CHECK(refused(R"("perhaps")") == "tool_choice");
    CHECK(refused("5") == "tool_choice");
    CHECK(refused(R"({"type": "function"})") == "tool_choice");
    CHECK(refused(function("four")) == "tool_choice");
    CHECK(refused(R"({"type": "allowed_tools"})") == "tool_choice");
    CHECK(refused(R"({"type": "allowed_tools", "allowed_tools": {"tools": []}})") ==
          "tool_choice.allowed_tools.mode");
    CHECK(refused(R"({"type": "allowed_tools", "allowed_tools": {"mode": "auto"}})") ==
          "tool_choice.allowed_tools.tools");
    CHECK(refused(allowed("never", function("one"))) == "tool_choice.allowed_tools.mode");
    CHECK(refused(allowed("auto", "5")) == "tool_choice.allowed_tools.tools[0]");
    CHECK(refused(allowed("auto", function("one") + ", " + function("four"))) ==
          "tool_choice.allowed_tools.tools[1]");
    CHECK(refused(allowed("required", "")) == "tool_choice");
}

namespace {

std::string call_of(const std::string& name, const std::string& arguments = "{}") {
    return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n</tool_call>";
}

/// What the model calls, with log-probabilities, so that it follows its script as far as it may.
Json calls_of(FakeService& service, const std::string& more) {
    std::string body = talk("");
    body.insert(body.size() - 1, R"(, "temperature": 0, "logprobs": true)" + more);
    const auto answer = service.post(chats, body);
    CAPTURE(answer.body);
    REQUIRE(answer.status == 200);
    return etna::parse_json(answer.body)["choices"][0]["message"].value("tool_calls", Json::array());
}

} // namespace

TEST_CASE("a tool that was not offered is not called, whether tools are strict or not") {
    FakeService service({.chat_template = naming_tools, .says = call_of("get_rearts_lobob", R"({"a": 1})")});
    const Json calls = calls_of(service, "");
    for (const Json& call : calls) {
        const std::string name = call["function"]["name"];
        CHECK((name == "one" || name == "two" || name == "three"));
        CHECK(etna::parse_json(call["function"]["arguments"].get<std::string>()).is_object());
    }
    CHECK_FALSE(calls.empty());
}

TEST_CASE("arguments fit the schema where the server keeps all tools to theirs") {
    const std::string tools = R"(, "tools": [{"type": "function", "function": {"name": "one", "parameters":
        {"type": "object", "properties": {"n": {"enum": [7]}}, "required": ["n"], "additionalProperties": false}}}])";
    const auto arguments = [&](bool are_strict) {
        server::ServiceOptions options;
        options.limits.has_strict_tools = are_strict;
        FakeService service({.service = options,
                             .chat_template = naming_tools,
                             .says = call_of("one", R"({"n": 5, "m": 1})")});
        const auto answer = service.post(
            chats, R"({"messages": [{"role": "user", "content": "Go."}], "max_tokens": 100, "temperature": 0,
            "logprobs": true)" +
                       tools + "}");
        CAPTURE(answer.body);
        REQUIRE(answer.status == 200);
        const Json calls =
            etna::parse_json(answer.body)["choices"][0]["message"].value("tool_calls", Json::array());
        REQUIRE(calls.size() == 1);
        return etna::parse_json(calls[0]["function"]["arguments"].get<std::string>());
    };
    CHECK(arguments(false) == Json({{"n", 5}, {"m", 1}}));
    CHECK(arguments(true) == Json({{"n", 7}}));
}

TEST_CASE("a tool that is demanded by name is called once") {
    FakeService service({.chat_template = naming_tools, .says = call_of("two") + "\n" + call_of("two")});
    CHECK(calls_of(service, "").size() == 2);
    CHECK(calls_of(service, R"(, "tool_choice": "required")").size() == 2);
    CHECK(calls_of(service, R"(, "tool_choice": )" + function("two")).size() == 1);
    CHECK(calls_of(service, R"(, "tool_choice": )" + function("two") + R"(, "parallel_tool_calls": true)")
              .size() == 1);
    const std::string body =
        R"({"input": "Go.", "max_output_tokens": 100, "temperature": 0, "top_logprobs": 1,
        "include": ["message.output_text.logprobs"], "tools": [{"type": "function", "name": "two"}])";
    const auto calls = [&](const std::string& more) {
        const auto answer = service.post("/v1/responses", body + more + "}");
        CAPTURE(answer.body);
        REQUIRE(answer.status == 200);
        return etna::parse_json(answer.body)["output"].size();
    };
    CHECK(calls("") == 2);
    CHECK(calls(R"(, "tool_choice": {"type": "function", "name": "two"})") == 1);
}
