// `functions` and `function_call`, the deprecated function calling of chat completions.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <utility>

using namespace etna;
using namespace etna::test;

namespace {

/// Shows the model input, and has the marker of a call, so that its syntax is detected.
constexpr const char* functions_template =
    "{% if tools %}({% for t in tools %}{{ t.function.name }} {% endfor %}){% endif %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}"
    "[{{ c.id }} {{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}"
    "{% if m.tool_call_id %}[{{ m.tool_call_id }}]{% endif %}{% endfor %}{# <tool_call> #}";
constexpr const char* functions =
    R"("functions": [{"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}},
        {"name": "wait"}])";
constexpr const char* look_call =
    "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"it\"}}\n</tool_call>";

std::string function_chat(const std::string& more) {
    return R"({"messages": [{"role": "user", "content": "Go."}], "max_tokens": 100, "temperature": 0,
        "logprobs": true, )" +
           more + "}";
}

Json function_answer(FakeService& service, const std::string& more) {
    return choice_of(service.post(chats_path, function_chat(more)));
}

} // namespace

TEST_CASE("a function call is returned in function_call") {
    FakeService service({.chat_template = functions_template, .says = look_call});
    const Json choice = function_answer(service, functions);
    CHECK(choice["finish_reason"] == "function_call");
    const Json& message = choice["message"];
    CHECK(message["content"].is_null());
    CHECK(message["function_call"] == Json({{"name", "look"}, {"arguments", R"({"at": "it"})"}}));
    CHECK_FALSE(message.contains("tool_calls"));
}

TEST_CASE("a function call is streamed in function_call") {
    FakeService service({.chat_template = functions_template, .says = look_call});
    const auto answer =
        service.post(chats_path, function_chat(std::string(functions) + R"(, "stream": true)"));
    Json call = {{"name", ""}, {"arguments", ""}};
    std::string content;
    Json reason;
    for (const Json& choice : pieces_of(answer)) {
        CHECK_FALSE(choice["delta"].contains("tool_calls"));
        content += choice["delta"].value("content", "");
        const Json delta = choice["delta"].value("function_call", Json::object());
        for (const auto& [member, text] : delta.items())
            call[member] = call[member].get<std::string>() + text.get<std::string>();
        if (!choice["finish_reason"].is_null())
            reason = choice["finish_reason"];
    }
    CHECK(content.empty());
    CHECK(call == Json({{"name", "look"}, {"arguments", R"({"at": "it"})"}}));
    CHECK(reason == "function_call");
}

TEST_CASE("function_call selects whether a function is called, and which") {
    const std::string two = std::string(look_call) + "\n" + look_call;
    FakeService service({.chat_template = functions_template, .says = two});
    const auto with = [](const std::string& choice) {
        return std::string(functions) + ", \"function_call\": " + choice;
    };
    for (const char* const choice : {R"("auto")", "null", R"({"name": "look"})"}) {
        CAPTURE(choice);
        const Json answer = function_answer(service, with(choice)); // at most one call
        CHECK(answer["message"]["function_call"]["arguments"] == R"({"at": "it"})");
    }
    const Json forced = function_answer(service, with(R"({"name": "wait"})"));
    CHECK(forced["finish_reason"] == "function_call");
    const Json& call = forced["message"]["function_call"];
    CHECK(call["name"] == "wait");
    CHECK(etna::parse_json(call["arguments"].get<std::string>()).is_object());
    CHECK(forced["message"]["content"].is_null());
    CHECK(prompt_of(service, function_chat(with(R"("none")"))) == "<user>Go.");
    CHECK(prompt_of(service, function_chat(functions)) == "(look wait )<user>Go.");
}

TEST_CASE("deprecated calls and results in messages get ids") {
    FakeService service({.chat_template = functions_template});
    const auto call = [](const std::string& at) {
        return R"({"role": "assistant", "content": null, "function_call": {"name": "look", "arguments": "{\"at\": )" +
               at + "}\"}}, ";
    };
    const std::string result = R"({"role": "function", "name": "look", "content": "x"})";
    CHECK(prompt_of(service, R"({"messages": [{"role": "user", "content": "Go."}, )" + call("1") + result +
                                 ", " + call("2") + result + "]}") ==
          R"(<user>Go.<assistant>[call00001 look {"at": 1}]<tool>x[call00001])"
          R"(<assistant>[call00002 look {"at": 2}]<tool>x[call00002])");
}

TEST_CASE("errors in functions have their path") {
    FakeService service({.chat_template = functions_template});
    const auto error_path = [&](const std::string& more) {
        return error_of(service.post(chats_path, function_chat(more))).value("param", "none");
    };
    CHECK(error_path(R"("functions": 5)") == "functions");
    CHECK(error_path(R"("functions": [5])") == "functions[0]");
    CHECK(error_path(R"("functions": [{"name": "a"}, {"description": "b"}])") == "functions[1]");
    CHECK(error_path(R"("functions": [{"name": "a"}, {"name": "a"}])") == "functions[1].name");
    CHECK(error_path(R"("function_call": {"name": "look"})") == "function_call");
    CHECK(error_path(std::string(functions) + R"(, "function_call": "perhaps")") == "function_call");
    CHECK(error_path(std::string(functions) + R"(, "function_call": {"name": "other"})") == "function_call");
    CHECK(error_path(std::string(functions) +
                     R"(, "tools": [{"type": "function", "function": {"name": "f"}}])") == "tools");
    CHECK(error_path(R"("function_call": {"name": "f"},
        "functions": [{"name": "e"}, {"name": "f", "parameters": {"type": "strange"}}])") ==
          "functions[1].parameters");
}
