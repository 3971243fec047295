// `tools` and `tool_choice` of chats: the offered tools, required calls, and errors.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace etna;
using namespace etna::test;

namespace {

/// Shows the offered tools, and has the marker of a call, so that its syntax is detected.
constexpr const char* tool_names_template =
    "{% if tools %}({% for t in tools %}{{ t.function.name }} {% endfor %}){% endif %}"
    "{% for m in messages %}{{ m.content }}{% endfor %}{# <tool_call> #}";

std::string three_tools(const std::string& choice) {
    return R"({"messages": [{"role": "user", "content": "Go."}], "max_tokens": 100, "tools": [
        {"type": "function", "function": {"name": "one"}}, {"type": "function", "function": {"name": "two"}},
        {"type": "function", "function": {"name": "three"}}])" +
           (choice.empty() ? "" : ", \"tool_choice\": " + choice) + "}";
}

std::string allowed_tools(const std::string& mode, const std::string& tools) {
    return R"({"type": "allowed_tools", "allowed_tools": {"mode": ")" + mode + R"(", "tools": [)" + tools +
           "]}}";
}

std::string named_function(const std::string& name) {
    return R"({"type": "function", "function": {"name": ")" + name + "\"}}";
}

std::string choice_prompt(FakeService& service, const std::string& choice) {
    return etna::parse_json(service.post("/apply-template", three_tools(choice)).body)
        .value("prompt", "none");
}

} // namespace

TEST_CASE("a model is offered only allowed tools") {
    FakeService service({.chat_template = tool_names_template});
    CHECK(choice_prompt(service, "") == "(one two three )Go.");
    CHECK(choice_prompt(service, R"("auto")") == "(one two three )Go.");
    CHECK(choice_prompt(service, R"("none")") == "Go.");
    CHECK(choice_prompt(service, R"("required")").starts_with("(one two three )Go."));
    CHECK(choice_prompt(service, named_function("two")).starts_with("(one two three )Go."));
    CHECK(choice_prompt(service, allowed_tools("auto", named_function("three") + ", " +
                                                           named_function("one"))) == "(one three )Go.");
    CHECK(choice_prompt(service, allowed_tools("required", named_function("two"))).starts_with("(two )Go."));
    CHECK(choice_prompt(service, allowed_tools("auto", "")) == "Go.");
}

TEST_CASE("a call of an allowed tool can be required") {
    FakeService service({.chat_template = tool_names_template});
    const auto answer =
        service.post(chats_path, three_tools(allowed_tools("required", named_function("two"))));
    CAPTURE(answer.body);
    REQUIRE(answer.status == 200);
    const Json message = etna::parse_json(answer.body)["choices"][0]["message"];
    REQUIRE(!message["tool_calls"].empty());
    for (const Json& call : message["tool_calls"])
        CHECK(call["function"]["name"] == "two");
}

TEST_CASE("an invalid tool_choice is refused with its path") {
    FakeService service({.chat_template = tool_names_template});
    const auto error_path = [&](const std::string& choice) {
        return error_of(service.post(chats_path, three_tools(choice))).value("param", "none");
    };
    CHECK(error_path(R"("perhaps")") == "tool_choice");
    CHECK(error_path("5") == "tool_choice");
    CHECK(error_path(R"({"type": "function"})") == "tool_choice");
    CHECK(error_path(named_function("four")) == "tool_choice");
    CHECK(error_path(R"({"type": "allowed_tools"})") == "tool_choice");
    CHECK(error_path(R"({"type": "allowed_tools", "allowed_tools": {"tools": []}})") ==
          "tool_choice.allowed_tools.mode");
    CHECK(error_path(R"({"type": "allowed_tools", "allowed_tools": {"mode": "auto"}})") ==
          "tool_choice.allowed_tools.tools");
    CHECK(error_path(allowed_tools("never", named_function("one"))) == "tool_choice.allowed_tools.mode");
    CHECK(error_path(allowed_tools("auto", "5")) == "tool_choice.allowed_tools.tools[0]");
    CHECK(error_path(allowed_tools("auto", named_function("one") + ", " + named_function("four"))) ==
          "tool_choice.allowed_tools.tools[1]");
    CHECK(error_path(allowed_tools("required", "")) == "tool_choice");
}

namespace {

std::string call_text(const std::string& name, const std::string& arguments = "{}") {
    return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n</tool_call>";
}

/// The calls of the answer. Log-probabilities make the fake model follow its script as far as constraints
/// allow.
/// Returns the calls of a chat's answer, without one that the limit cuts off.
Json whole_calls(const std::string& answer) {
    const Json choice = etna::parse_json(answer)["choices"][0];
    Json calls = choice["message"].value("tool_calls", Json::array());
    if (choice["finish_reason"] == "length" && !calls.empty())
        calls.erase(calls.size() - 1);
    return calls;
}

Json answer_calls(FakeService& service, const std::string& more) {
    std::string body = three_tools("");
    body.insert(body.size() - 1, R"(, "temperature": 0, "logprobs": true)" + more);
    const auto answer = service.post(chats_path, body);
    CAPTURE(answer.body);
    REQUIRE(answer.status == 200);
    return whole_calls(answer.body);
}

} // namespace

TEST_CASE("a tool that was not offered is never called") {
    FakeService service(
        {.chat_template = tool_names_template, .says = call_text("get_rearts_lobob", R"({"a": 1})")});
    const Json calls = answer_calls(service, "");
    for (const Json& call : calls) {
        const std::string name = call["function"]["name"];
        CHECK((name == "one" || name == "two" || name == "three"));
        CHECK(etna::parse_json(call["function"]["arguments"].get<std::string>()).is_object());
    }
    CHECK_FALSE(calls.empty());
}

TEST_CASE("arguments fit the schema if the server makes all tools strict") {
    const std::string tools = R"(, "tools": [{"type": "function", "function": {"name": "one", "parameters":
        {"type": "object", "properties": {"n": {"enum": [7]}}, "required": ["n"], "additionalProperties": false}}}])";
    const auto arguments = [&](bool are_strict) {
        server::ServiceOptions options;
        options.limits.has_strict_tools = are_strict;
        FakeService service({.service = options,
                             .chat_template = tool_names_template,
                             .says = call_text("one", R"({"n": 5, "m": 1})")});
        const auto answer = service.post(
            chats_path,
            R"({"messages": [{"role": "user", "content": "Go."}], "max_tokens": 100, "temperature": 0,
            "logprobs": true)" +
                tools + "}");
        CAPTURE(answer.body);
        REQUIRE(answer.status == 200);
        const Json calls = whole_calls(answer.body);
        REQUIRE(calls.size() == 1);
        return etna::parse_json(calls[0]["function"]["arguments"].get<std::string>());
    };
    CHECK(arguments(false) == Json({{"n", 5}, {"m", 1}}));
    CHECK(arguments(true) == Json({{"n", 7}}));
}

TEST_CASE("a tool required by name is called once") {
    FakeService service(
        {.chat_template = tool_names_template, .says = call_text("two") + "\n" + call_text("two")});
    CHECK(answer_calls(service, "").size() == 2);
    CHECK(answer_calls(service, R"(, "tool_choice": "required")").size() == 2);
    CHECK(answer_calls(service, R"(, "tool_choice": )" + named_function("two")).size() == 1);
    CHECK(answer_calls(service,
                       R"(, "tool_choice": )" + named_function("two") + R"(, "parallel_tool_calls": true)")
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
