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
    return Json::parse(service.post("/apply-template", talk(choice)).body).value("prompt", "none");
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
    const Json message = Json::parse(answer.body)["choices"][0]["message"];
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
        return Json::parse(answer.body).value("error", Json::object()).value("param", "none");
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
