// `functions` and `function_call`, as chat completions had them before there were tools.
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <utility>

using namespace etna;
using server::Json;
using test::FakeService;

namespace {

constexpr const char* chats = "/v1/chat/completions";
/// Shows what the model is given, and has the mark of a call, so that its syntax is known.
constexpr const char* turns =
    "{% if tools %}({% for t in tools %}{{ t.function.name }} {% endfor %}){% endif %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}"
    "[{{ c.id }} {{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}"
    "{% if m.tool_call_id %}[{{ m.tool_call_id }}]{% endif %}{% endfor %}{# <tool_call> #}";
constexpr const char* functions =
    R"("functions": [{"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}},
        {"name": "wait"}])";
constexpr const char* look_call =
    "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"it\"}}\n</tool_call>";

std::string talk(const std::string& more) {
    return R"({"messages": [{"role": "user", "content": "Go."}], "max_tokens": 100, "temperature": 0,
        "logprobs": true, )" +
           more + "}";
}

Json answered(FakeService& service, const std::string& more) {
    const auto answer = service.post(chats, talk(more));
    CAPTURE(answer.body);
    REQUIRE(answer.status == 200);
    return etna::parse_json(answer.body)["choices"][0];
}

std::string prompt_of(FakeService& service, const std::string& body) {
    return etna::parse_json(service.post("/apply-template", body).body).value("prompt", "none");
}

} // namespace

TEST_CASE("a call of a function is told in function_call") {
    FakeService service({.chat_template = turns, .says = look_call});
    const Json choice = answered(service, functions);
    CHECK(choice["finish_reason"] == "function_call");
    const Json& message = choice["message"];
    CHECK(message["content"].is_null());
    CHECK(message["function_call"] == Json({{"name", "look"}, {"arguments", R"({"at": "it"})"}}));
    CHECK_FALSE(message.contains("tool_calls"));
}

TEST_CASE("a call of a function is streamed in function_call") {
    FakeService service({.chat_template = turns, .says = look_call});
    const auto answer = service.post(chats, talk(std::string(functions) + R"(, "stream": true)"));
    Json call = {{"name", ""}, {"arguments", ""}};
    std::string content;
    Json reason;
    for (std::size_t at = answer.body.find("data: {"); at != std::string::npos;
         at = answer.body.find("data: {", at + 1)) {
        const Json chunk = etna::parse_json(answer.body.substr(at + 6, answer.body.find('\n', at) - at - 6));
        const Json& choice = chunk["choices"][0];
        CHECK_FALSE(choice["delta"].contains("tool_calls"));
        content += choice["delta"].value("content", "");
        const Json told = choice["delta"].value("function_call", Json::object());
        for (const auto& [member, text] : told.items())
            call[member] = call[member].get<std::string>() + text.get<std::string>();
        if (!choice["finish_reason"].is_null())
            reason = choice["finish_reason"];
    }
    CHECK(content.empty());
    CHECK(call == Json({{"name", "look"}, {"arguments", R"({"at": "it"})"}}));
    CHECK(reason == "function_call");
}

TEST_CASE("function_call says whether a function is called, and which") {
    const std::string two = std::string(look_call) + "\n" + look_call;
    FakeService service({.chat_template = turns, .says = two});
    const auto with = [](const std::string& choice) {
        return std::string(functions) + ", \"function_call\": " + choice;
    };
    for (const char* const choice : {R"("auto")", "null", R"({"name": "look"})"}) {
        CAPTURE(choice);
        const Json answer = answered(service, with(choice)); // one call, whatever the model says
        CHECK(answer["message"]["function_call"]["arguments"] == R"({"at": "it"})");
    }
    const Json forced = answered(service, with(R"({"name": "wait"})"));
    CHECK(forced["finish_reason"] == "function_call");
    const Json& call = forced["message"]["function_call"];
    CHECK(call["name"] == "wait");
    CHECK(etna::parse_json(call["arguments"].get<std::string>()).is_object());
    CHECK(forced["message"]["content"].is_null());
    CHECK(prompt_of(service, talk(with(R"("none")"))) == "<user>Go.");
    CHECK(prompt_of(service, talk(functions)) == "(look wait )<user>Go.");
}

TEST_CASE("calls and results of the older form are understood, with ids") {
    FakeService service({.chat_template = turns});
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

TEST_CASE("mistakes in functions are told with their place") {
    FakeService service({.chat_template = turns});
    const auto refused = [&](const std::string& more) {
        const auto answer = service.post(chats, talk(more));
        CAPTURE(answer.body);
        CHECK(answer.status == 400);
        return etna::parse_json(answer.body).value("error", Json::object()).value("param", "none");
    };
    CHECK(refused(R"("functions": 5)") == "functions");
    CHECK(refused(R"("functions": [5])") == "functions[0]");
    CHECK(refused(R"("functions": [{"name": "a"}, {"description": "b"}])") == "functions[1]");
    CHECK(refused(R"("functions": [{"name": "a"}, {"name": "a"}])") == "functions[1].name");
    CHECK(refused(R"("function_call": {"name": "look"})") == "function_call");
    CHECK(refused(std::string(functions) + R"(, "function_call": "perhaps")") == "function_call");
    CHECK(refused(std::string(functions) + R"(, "function_call": {"name": "other"})") == "function_call");
    CHECK(refused(std::string(functions) +
                  R"(, "tools": [{"type": "function", "function": {"name": "f"}}])") == "tools");
    CHECK(refused(R"("function_call": {"name": "f"},
        "functions": [{"name": "e"}, {"name": "f", "parameters": {"type": "strange"}}])") ==
          "functions[1].parameters");
}
