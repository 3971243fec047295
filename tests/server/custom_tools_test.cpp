// Custom tools of chat completions: the model calls a function of one text, and clients see the text.
#include "server/openai/custom_tools.hpp"
#include "tests/server/fake_service.hpp"
#include "tests/support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace etna;
using server::Json;
using test::FakeAnswer;
using test::FakeService;

namespace {

constexpr const char* chats = "/v1/chat/completions";
constexpr const char* turns =
    "{% for t in tools or [] %}({{ t.function.name }}){% endfor %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}[{{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}"
    "</end>{% endfor %}<assistant>{# <tool_call> #}";
/// A call as the model writes it.
constexpr const char* patches = "<tool_call>\n{\"name\": \"patch\", \"arguments\": {\"input\": "
                                "\"a\\n\\\"b\\\" \\u00e9\"}}\n</tool_call>";
constexpr const char* patched = "a\n\"b\" \u00e9";

Json custom(std::string_view name, const Json& format = nullptr) {
    Json tool = {{"type", "custom"}, {"custom", {{"name", name}}}};
    if (!format.is_null())
        tool["custom"]["format"] = format;
    return tool;
}

Json kept_to(std::string_view syntax, std::string_view definition) {
    return {{"type", "grammar"}, {"grammar", {{"syntax", syntax}, {"definition", definition}}}};
}

Json talk(const Json& tools, const Json& more = Json::object()) {
    Json body = {{"messages", Json::array({Json{{"role", "user"}, {"content", "Go"}}})},
                 {"max_tokens", 400},
                 {"temperature", 0},
                 {"tools", tools}};
    body.update(more);
    return body;
}

FakeAnswer ask(FakeService& service, const Json& body) {
    return service.post(chats, etna::dump_json(body));
}

Json choice_of(const FakeAnswer& answer) {
    CAPTURE(answer.body);
    REQUIRE(answer.status == 200);
    return etna::parse_json(answer.body)["choices"][0];
}

Json refused(const FakeAnswer& answer) {
    CAPTURE(answer.body);
    CHECK(answer.status == 400);
    return etna::parse_json(answer.body).value("error", Json::object());
}

/// The pieces of a stream's calls.
std::vector<Json> call_pieces(const FakeAnswer& stream) {
    std::vector<Json> found;
    for (std::size_t at = stream.body.find("data: {"); at != std::string::npos;
         at = stream.body.find("data: {", at + 1)) {
        const Json chunk =
            etna::parse_json(stream.body.substr(at + 6, stream.body.find('\n', at) - at - 6))["choices"][0];
        for (const Json& piece : chunk["delta"].value("tool_calls", Json::array()))
            found.push_back(piece);
    }
    return found;
}

} // namespace

TEST_CASE("a call of a custom tool is told as its text, whole and streamed") {
    FakeService service({.chat_template = turns, .says = patches});
    for (const Json& format : {Json(nullptr), Json({{"type", "text"}})}) {
        const Json body = talk(Json::array({custom("patch", format)}));
        const Json choice = choice_of(ask(service, body));
        CHECK(choice["finish_reason"] == "tool_calls");
        REQUIRE(choice["message"]["tool_calls"].size() == 1);
        const Json& call = choice["message"]["tool_calls"][0];
        CHECK(call["id"].get<std::string>().starts_with("call_"));
        CHECK(call["type"] == "custom");
        CHECK(call["custom"] == Json({{"name", "patch"}, {"input", patched}}));
        CHECK_FALSE(call.contains("function"));
    }
    const auto pieces = call_pieces(ask(service, talk(Json::array({custom("patch")}), {{"stream", true}})));
    REQUIRE(!pieces.empty());
    CHECK(pieces[0]["type"] == "custom");
    CHECK(pieces[0]["custom"]["name"] == "patch");
    std::string input;
    for (const Json& piece : pieces) {
        CHECK(piece["index"] == 0);
        input += piece["custom"]["input"].get<std::string>();
    }
    CHECK(input == patched);
}

TEST_CASE("functions beside custom tools stay functions") {
    FakeService service({.chat_template = turns, .says = patches});
    const Json function = {{"type", "function"}, {"function", {{"name", "patch"}}}};
    const Json choice = choice_of(ask(service, talk(Json::array({function, custom("other")}))));
    const Json& call = choice["message"]["tool_calls"][0];
    CHECK(call["type"] == "function");
    CHECK(etna::parse_json(call["function"]["arguments"].get<std::string>())["input"] == patched);
}

TEST_CASE("the text of a custom tool of a chat is kept to its grammar") {
    FakeService service({.chat_template = turns});
    const auto input_of = [&](const Json& format) {
        const Json choice = choice_of(
            ask(service, talk(Json::array({custom("count", format)}),
                              {{"tool_choice", {{"type", "custom"}, {"custom", {{"name", "count"}}}}},
                               {"parallel_tool_calls", false}})));
        CAPTURE(etna::dump_json(choice));
        REQUIRE(choice["message"]["tool_calls"].size() == 1);
        return choice["message"]["tool_calls"][0]["custom"]["input"];
    };
    CHECK(input_of(kept_to("lark", "start: \"say \\\"\" NUMBER \"\\\"\\n\"\nNUMBER: \"7\"")) ==
          "say \"7\"\n");
    CHECK(input_of(kept_to("regex", "say \"7\"\\n")) == "say \"7\"\n");
}

TEST_CASE("custom tools can be chosen and allowed") {
    FakeService service({.chat_template = turns});
    const Json tools = Json::array({custom("one"), custom("two")});
    const auto prompt = [&](const Json& choice) {
        return etna::parse_json(
                   service.post("/apply-template", etna::dump_json(talk(tools, {{"tool_choice", choice}})))
                       .body)
            .value("prompt", "none");
    };
    CHECK(prompt("auto").starts_with("(one)(two)<user>"));
    const Json allowed = {{"mode", "required"}, {"tools", Json::array({custom("two")})}};
    CHECK(prompt({{"type", "allowed_tools"}, {"allowed_tools", allowed}}).starts_with("(two)<user>"));
    CHECK(refused(ask(service, talk(tools, {{"tool_choice", custom("three")}})))["param"] == "tool_choice");
}

TEST_CASE("calls of custom tools are read in messages") {
    FakeService service({.chat_template = turns});
    const auto asked_with = [&](const Json& call) {
        const Json assistant = {{"role", "assistant"}, {"content", ""}, {"tool_calls", Json::array({call})}};
        const Json result = {{"role", "tool"}, {"tool_call_id", "c"}, {"content", "done"}};
        const Json user = {{"role", "user"}, {"content", "Go"}};
        return talk(Json::array({custom("patch")}), {{"messages", Json::array({user, assistant, result})}});
    };
    Json call = {{"id", "c"}, {"type", "custom"}, {"custom", {{"name", "patch"}, {"input", "a\n"}}}};
    const auto answer = service.post("/apply-template", etna::dump_json(asked_with(call)));
    CAPTURE(answer.body);
    REQUIRE(answer.status == 200);
    const std::string prompt = etna::parse_json(answer.body)["prompt"];
    CHECK(prompt.find("[patch ") != std::string::npos);
    CHECK(prompt.find(R"(a\)") != std::string::npos);
    CHECK(prompt.find("input") != std::string::npos);
    call["custom"].erase("input");
    CHECK(refused(ask(service, asked_with(call)))["param"] == "messages[1].tool_calls[0]");
}

TEST_CASE("what is wrong with a custom tool is told with its place") {
    FakeService service({.chat_template = turns});
    const Json function = {{"type", "function"}, {"function", {{"name", "f"}}}};
    const auto wrong = [&](const Json& tool) {
        return refused(ask(service, talk(Json::array({function, tool}))));
    };
    const std::string definition = "tools[1].custom.format.grammar.definition";
    const Json unknown = wrong(custom("c", kept_to("lark", "start: \"a\"\n  | item")));
    CHECK(unknown["param"] == definition);
    CHECK(unknown["message"] == definition + ": the grammar, line 2, column 5: there is no rule `item`; a "
                                             "rule looks like this: start: \"yes\" | \"no\" /[0-9]+/");
    CHECK(wrong(custom("c", kept_to("regex", "(")))["param"] == definition);
    const Json brackets = wrong(custom("c", kept_to("regex", "a)|(?:b")));
    CHECK(brackets.value("param", "") == definition);
    CHECK(brackets.value("message", "") == definition +
                                               ": the regular expression `a)|(?:b` has a ) without its ( at "
                                               "character 2; write it as ECMAScript does");
    CHECK(wrong(custom("c", kept_to("regex", "a)(?:b")))["param"] == definition);
    CHECK(wrong(custom("c", kept_to("regex", "(?=a)a")))["param"] == definition);
    CHECK(wrong(custom("c", kept_to("peg", "x")))["param"] == "tools[1].custom.format.grammar.syntax");
    CHECK(wrong(custom("c", {{"type", "grammar"}}))["param"] == "tools[1].custom.format.grammar");
    CHECK(wrong(custom("c", {{"type", "xml"}}))["param"] == "tools[1].custom.format.type");
    CHECK(wrong(custom("c", 5))["param"] == "tools[1].custom.format");
    CHECK(wrong({{"type", "custom"}})["param"] == "tools[1]");
    Json odd = custom("c", {{"type", "text"}});
    odd["custom"]["odd"] = 1;
    const auto answer = ask(service, talk(Json::array({odd}), {{"max_tokens", 2}}));
    CHECK(answer.headers.at("etna-ignored") == "tools[0].custom.odd");
}

TEST_CASE("what is wrong with a tool is told with its place in the request, whichever are allowed") {
    FakeService service({.chat_template = turns});
    const auto named = [](std::string_view name) {
        return Json{{"type", "function"}, {"function", {{"name", name}}}};
    };
    Json strict = named("strict");
    strict["function"]["strict"] = true;
    strict["function"]["parameters"] = {{"type", "object"}, {"properties", 5}};
    const Json tools = Json::array(
        {named("f"), custom("c", kept_to("lark", "start: item")), named("g"), strict, custom("d")});
    const auto wrong = [&](const Json& allowed) {
        const Json list = {{"mode", "required"}, {"tools", allowed}};
        return refused(ask(
            service, talk(tools, {{"tool_choice", {{"type", "allowed_tools"}, {"allowed_tools", list}}}})));
    };
    const std::string definition = "tools[1].custom.format.grammar.definition";
    const Json of_custom = wrong(Json::array({custom("c"), custom("d")}));
    CHECK(of_custom.value("param", "") == definition);
    CHECK(of_custom.value("message", "").starts_with(definition + ": the grammar, line 1"));
    const Json of_function = wrong(Json::array({named("strict"), custom("d")}));
    CHECK(of_function.value("param", "") == "tools[3].function.parameters");
    CHECK(of_function.value("message", "").starts_with("tools[3].function.parameters: "));
}

TEST_CASE("tools of one name, and tools that are named by another type, are refused") {
    FakeService service({.chat_template = turns});
    const Json function = {{"type", "function"}, {"function", {{"name", "one"}}}};
    const auto param = [&](const Json& tools, const Json& more = Json::object()) {
        return refused(ask(service, talk(tools, more)))["param"];
    };
    CHECK(param(Json::array({function, custom("one")})) == "tools[1].custom.name");
    CHECK(param(Json::array({custom("one"), function})) == "tools[1].function.name");
    CHECK(param(Json::array({function, function})) == "tools[1].function.name");
    CHECK(param(Json::array({custom("two"), custom("one"), custom("two")})) == "tools[2].custom.name");
    const Json both = Json::array({function, custom("two")});
    CHECK(param(both, {{"tool_choice", custom("one")}}) == "tool_choice");
    Json as_function = function;
    as_function["function"]["name"] = "two";
    CHECK(param(both, {{"tool_choice", as_function}}) == "tool_choice");
    const Json list = {{"mode", "auto"}, {"tools", Json::array({function, as_function})}};
    CHECK(param(both, {{"tool_choice", {{"type", "allowed_tools"}, {"allowed_tools", list}}}}) ==
          "tool_choice.allowed_tools.tools[1]");
}

TEST_CASE("a call of a custom tool that is cut off is none") {
    FakeService service({.chat_template = turns,
                         .says = "<tool_call>\n{\"name\": \"patch\", \"arguments\": {\"input\": "
                                 "\"one two three four five six seven eight nine ten one two three four five "
                                 "six seven eight nine ten\"}}\n</tool_call>"});
    const Json choice = choice_of(ask(service, talk(Json::array({custom("patch")}), {{"max_tokens", 70}})));
    CHECK(choice["finish_reason"] == "length");
    CHECK_FALSE(choice["message"].contains("tool_calls"));
}

TEST_CASE("a call of a custom tool that is whole is told wherever a function's is") {
    FakeService service({.chat_template = turns, .says = patches});
    const Json function = {{"type", "function"}, {"function", {{"name", "patch"}}}};
    const auto message = [&](const Json& tool, const Json& more) {
        return choice_of(ask(service, talk(Json::array({tool}), more)))["message"];
    };
    int cut_behind_call = 0;
    for (int tokens = 1; tokens < 150; ++tokens) {
        const Json more = {{"max_tokens", tokens}};
        const Json choice = choice_of(ask(service, talk(Json::array({custom("patch")}), more)));
        const Json calls = choice["message"].value("tool_calls", Json::array());
        CAPTURE(tokens, etna::dump_json(choice));
        if (message(function, more).contains("tool_calls"))
            CHECK(calls.size() == 1);
        for (const Json& call : calls)
            CHECK(call["custom"]["input"] == patched);
        cut_behind_call += choice["finish_reason"] == "length" && !calls.empty() ? 1 : 0;
        if (choice["finish_reason"] == "tool_calls")
            break;
    }
    CHECK(cut_behind_call > 0);
    const Json stop = {{"stop", Json::array({"</tool_call>"})}};
    REQUIRE(message(function, stop)["tool_calls"].size() == 1);
    const Json stopped = message(custom("patch"), stop);
    REQUIRE(stopped.contains("tool_calls"));
    CHECK(stopped["tool_calls"][0]["custom"]["input"] == patched);
}

TEST_CASE("a chat that is streamed and kept has the custom call that its end cut off behind the text") {
    FakeService service({.chat_template = turns, .says = patches});
    const Json more = {{"stream", true}, {"store", true}, {"stop", Json::array({"</tool_call>"})}};
    const auto stream = ask(service, talk(Json::array({custom("patch")}), more));
    CAPTURE(stream.body);
    const std::size_t at = stream.body.find("\"id\":\"") + 6;
    const std::string id = stream.body.substr(at, stream.body.find('"', at) - at);
    const Json kept = etna::parse_json(service.get(std::string(chats) + "/" + id).body);
    CAPTURE(etna::dump_json(kept));
    const Json message = kept["choices"][0]["message"];
    REQUIRE(message.contains("tool_calls"));
    CHECK(message["tool_calls"][0]["custom"]["input"] == patched);
}

TEST_CASE("what regular expressions of custom tools may take to be checked is one request's") {
    const auto nested = [](std::size_t letters) {
        std::string text(letters, 'a');
        for (int i = 0; i < 190; ++i)
            text = "(" + text + "a)";
        return custom("c", kept_to("regex", text));
    };
    server::openai::StepsOfChecks steps;
    const auto problem = [&steps](const Json& tool) {
        server::Fields fields(tool, "tools[0]");
        static_cast<void>(server::openai::function_of_custom(fields, steps));
        return fields.problem() ? fields.problem()->message : std::string();
    };
    const uint64_t all = steps.left;
    const Json one = nested(50'000);
    CHECK(problem(one).empty());
    CHECK(all - steps.left < 1'000'000); // by its length, however its groups are nested
    std::string told;
    for (int i = 0; i < 100 && told.empty(); ++i)
        told = problem(one);
    CHECK(told ==
          "tools[0].custom.format.grammar.definition: the grammar is too large to be compiled; make it "
          "smaller, or its bounds, or less ambiguous");
    CHECK_FALSE(problem(custom("c", kept_to("regex", "a)|(?:b"))).empty());
}

TEST_CASE("a request of many long regular expressions of custom tools is refused at once") {
    FakeService service({.chat_template = turns});
    Json tools = Json::array();
    for (int i = 0; i < 30; ++i)
        tools.push_back(custom("c" + std::to_string(i), kept_to("regex", std::string(100'000, 'a') + "()")));
    CHECK(refused(ask(service, talk(tools)))["param"] == "tools[19].custom.format.grammar.definition");
    Json told = Json::array();
    for (const Json& tool : tools) {
        told.push_back({{"type", "custom"}, {"name", tool["custom"]["name"]}});
        told.back()["format"] = {{"type", "grammar"},
                                 {"syntax", "regex"},
                                 {"definition", tool["custom"]["format"]["grammar"]["definition"]}};
    }
    const Json body = {{"input", "Go"}, {"tools", told}};
    CHECK(refused(service.post("/v1/responses", etna::dump_json(body)))["param"] ==
          "tools[19].format.definition");
}
