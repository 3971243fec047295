// Custom tools of chat completions: the model calls a function with one string, and clients get the string.
#include "core/base/json.hpp"
#include "server/faces/openai/tool_fields.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace etna;
using namespace etna::test;

namespace {

constexpr const char* tools_template =
    "{% for t in tools or [] %}({{ t.function.name }}){% endfor %}"
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}"
    "{% for c in m.tool_calls or [] %}[{{ c.function.name }} {{ c.function.arguments | tojson }}]{% endfor %}"
    "</end>{% endfor %}<assistant>{# <tool_call> #}";
/// A call in the model's syntax.
constexpr const char* patch_call = "<tool_call>\n{\"name\": \"patch\", \"arguments\": {\"input\": "
                                   "\"a\\n\\\"b\\\" \\u00e9\"}}\n</tool_call>";
constexpr const char* patch_input = "a\n\"b\" \u00e9";

Json custom_tool(std::string_view name, const Json& format = nullptr) {
    Json tool = {{"type", "custom"}, {"custom", {{"name", name}}}};
    if (!format.is_null())
        tool["custom"]["format"] = format;
    return tool;
}

Json constrained_by(std::string_view syntax, std::string_view definition) {
    return {{"type", "grammar"}, {"grammar", {{"syntax", syntax}, {"definition", definition}}}};
}

Json chat_with_tools(const Json& tools, const Json& more = Json::object()) {
    Json body = {{"messages", Json::array({Json{{"role", "user"}, {"content", "Go"}}})},
                 {"max_tokens", 400},
                 {"temperature", 0},
                 {"tools", tools}};
    body.update(more);
    return body;
}

FakeAnswer post_chat(FakeService& service, const Json& body) {
    return service.post(chats_path, etna::dump_json(body));
}

/// The pieces of a stream's calls.
std::vector<Json> call_pieces(const FakeAnswer& stream) {
    std::vector<Json> calls;
    for (const Json& piece : pieces_of(stream)) {
        for (const Json& call : piece["delta"].value("tool_calls", Json::array()))
            calls.push_back(call);
    }
    return calls;
}

} // namespace

TEST_CASE("a call of a custom tool has its text input, streamed or not") {
    FakeService service({.chat_template = tools_template, .says = patch_call});
    for (const Json& format : {Json(nullptr), Json({{"type", "text"}})}) {
        const Json body = chat_with_tools(Json::array({custom_tool("patch", format)}));
        const Json choice = choice_of(post_chat(service, body));
        CHECK(choice["finish_reason"] == "tool_calls");
        REQUIRE(choice["message"]["tool_calls"].size() == 1);
        const Json& call = choice["message"]["tool_calls"][0];
        CHECK(call["id"].get<std::string>().starts_with("call_"));
        CHECK(call["type"] == "custom");
        CHECK(call["custom"] == Json({{"name", "patch"}, {"input", patch_input}}));
        CHECK_FALSE(call.contains("function"));
    }
    const auto pieces = call_pieces(
        post_chat(service, chat_with_tools(Json::array({custom_tool("patch")}), {{"stream", true}})));
    REQUIRE(!pieces.empty());
    CHECK(pieces[0]["type"] == "custom");
    CHECK(pieces[0]["custom"]["name"] == "patch");
    std::string input;
    for (const Json& piece : pieces) {
        CHECK(piece["index"] == 0);
        input += piece["custom"]["input"].get<std::string>();
    }
    CHECK(input == patch_input);
}

TEST_CASE("functions next to custom tools remain functions") {
    FakeService service({.chat_template = tools_template, .says = patch_call});
    const Json function = {{"type", "function"}, {"function", {{"name", "patch"}}}};
    const Json choice =
        choice_of(post_chat(service, chat_with_tools(Json::array({function, custom_tool("other")}))));
    const Json& call = choice["message"]["tool_calls"][0];
    CHECK(call["type"] == "function");
    CHECK(etna::parse_json(call["function"]["arguments"].get<std::string>())["input"] == patch_input);
}

TEST_CASE("the input of a custom tool of a chat is constrained by its grammar") {
    FakeService service({.chat_template = tools_template});
    const auto input_of = [&](const Json& format) {
        const Json choice = choice_of(post_chat(
            service, chat_with_tools(Json::array({custom_tool("count", format)}),
                                     {{"tool_choice", {{"type", "custom"}, {"custom", {{"name", "count"}}}}},
                                      {"parallel_tool_calls", false}})));
        CAPTURE(etna::dump_json(choice));
        REQUIRE(choice["message"]["tool_calls"].size() == 1);
        return choice["message"]["tool_calls"][0]["custom"]["input"];
    };
    CHECK(input_of(constrained_by("lark", "start: \"say \\\"\" NUMBER \"\\\"\\n\"\nNUMBER: \"7\"")) ==
          "say \"7\"\n");
    CHECK(input_of(constrained_by("regex", "say \"7\"\\n")) == "say \"7\"\n");
}

TEST_CASE("tool_choice can select and allow custom tools") {
    FakeService service({.chat_template = tools_template});
    const Json tools = Json::array({custom_tool("one"), custom_tool("two")});
    const auto prompt = [&](const Json& choice) {
        return etna::parse_json(service
                                    .post("/apply-template",
                                          etna::dump_json(chat_with_tools(tools, {{"tool_choice", choice}})))
                                    .body)
            .value("prompt", "none");
    };
    CHECK(prompt("auto").starts_with("(one)(two)<user>"));
    const Json allowed = {{"mode", "required"}, {"tools", Json::array({custom_tool("two")})}};
    CHECK(prompt({{"type", "allowed_tools"}, {"allowed_tools", allowed}}).starts_with("(two)<user>"));
    CHECK(error_of(
              post_chat(service, chat_with_tools(tools, {{"tool_choice", custom_tool("three")}})))["param"] ==
          "tool_choice");
}

TEST_CASE("messages can contain calls of custom tools") {
    FakeService service({.chat_template = tools_template});
    const auto request_with = [&](const Json& call) {
        const Json assistant = {{"role", "assistant"}, {"content", ""}, {"tool_calls", Json::array({call})}};
        const Json result = {{"role", "tool"}, {"tool_call_id", "c"}, {"content", "done"}};
        const Json user = {{"role", "user"}, {"content", "Go"}};
        return chat_with_tools(Json::array({custom_tool("patch")}),
                               {{"messages", Json::array({user, assistant, result})}});
    };
    Json call = {{"id", "c"}, {"type", "custom"}, {"custom", {{"name", "patch"}, {"input", "a\n"}}}};
    const auto answer = service.post("/apply-template", etna::dump_json(request_with(call)));
    CAPTURE(answer.body);
    REQUIRE(answer.status == 200);
    const std::string prompt = etna::parse_json(answer.body)["prompt"];
    CHECK(prompt.find("[patch ") != std::string::npos);
    CHECK(prompt.find(R"(a\)") != std::string::npos);
    CHECK(prompt.find("input") != std::string::npos);
    call["custom"].erase("input");
    CHECK(error_of(post_chat(service, request_with(call)))["param"] == "messages[1].tool_calls[0]");
}

TEST_CASE("an invalid custom tool is refused with its path") {
    FakeService service({.chat_template = tools_template});
    const Json function = {{"type", "function"}, {"function", {{"name", "f"}}}};
    const auto wrong = [&](const Json& tool) {
        return error_of(post_chat(service, chat_with_tools(Json::array({function, tool}))));
    };
    const std::string definition = "tools[1].custom.format.grammar.definition";
    const Json unknown = wrong(custom_tool("c", constrained_by("lark", "start: \"a\"\n  | item")));
    CHECK(unknown["param"] == definition);
    CHECK(unknown["message"] == definition +
                                    ": the grammar, line 2, column 5: the rule `item` is undefined; a "
                                    "rule looks like this: start: \"yes\" | \"no\" /[0-9]+/");
    CHECK(wrong(custom_tool("c", constrained_by("regex", "(")))["param"] == definition);
    const Json brackets = wrong(custom_tool("c", constrained_by("regex", "a)|(?:b")));
    CHECK(brackets.value("param", "") == definition);
    CHECK(brackets.value("message", "") == definition +
                                               ": the regular expression `a)|(?:b` has a ) without its ( at "
                                               "character 2; use the syntax of ECMAScript");
    CHECK(wrong(custom_tool("c", constrained_by("regex", "a)(?:b")))["param"] == definition);
    CHECK(wrong(custom_tool("c", constrained_by("regex", "(?=a)a")))["param"] == definition);
    CHECK(wrong(custom_tool("c", constrained_by("peg", "x")))["param"] ==
          "tools[1].custom.format.grammar.syntax");
    CHECK(wrong(custom_tool("c", {{"type", "grammar"}}))["param"] == "tools[1].custom.format.grammar");
    CHECK(wrong(custom_tool("c", {{"type", "xml"}}))["param"] == "tools[1].custom.format.type");
    CHECK(wrong(custom_tool("c", 5))["param"] == "tools[1].custom.format");
    CHECK(wrong({{"type", "custom"}})["param"] == "tools[1]");
    Json odd = custom_tool("c", {{"type", "text"}});
    odd["custom"]["odd"] = 1;
    const auto answer = post_chat(service, chat_with_tools(Json::array({odd}), {{"max_tokens", 2}}));
    CHECK(answer.headers.at("etna-ignored") == "tools[0].custom.odd");
}

TEST_CASE("an error in a tool has its path in the request, with any allowed_tools") {
    FakeService service({.chat_template = tools_template});
    const auto named = [](std::string_view name) {
        return Json{{"type", "function"}, {"function", {{"name", name}}}};
    };
    Json strict = named("strict");
    strict["function"]["strict"] = true;
    strict["function"]["parameters"] = {{"type", "object"}, {"properties", 5}};
    const Json tools = Json::array({named("f"), custom_tool("c", constrained_by("lark", "start: item")),
                                    named("g"), strict, custom_tool("d")});
    const auto wrong = [&](const Json& allowed) {
        const Json list = {{"mode", "required"}, {"tools", allowed}};
        return error_of(post_chat(
            service,
            chat_with_tools(tools, {{"tool_choice", {{"type", "allowed_tools"}, {"allowed_tools", list}}}})));
    };
    const std::string definition = "tools[1].custom.format.grammar.definition";
    const Json of_custom = wrong(Json::array({custom_tool("c"), custom_tool("d")}));
    CHECK(of_custom.value("param", "") == definition);
    CHECK(of_custom.value("message", "").starts_with(definition + ": the grammar, line 1"));
    const Json of_function = wrong(Json::array({named("strict"), custom_tool("d")}));
    CHECK(of_function.value("param", "") == "tools[3].function.parameters");
    CHECK(of_function.value("message", "").starts_with("tools[3].function.parameters: "));
}

TEST_CASE("duplicate tool names and choices by the wrong tool type are refused") {
    FakeService service({.chat_template = tools_template});
    const Json function = {{"type", "function"}, {"function", {{"name", "one"}}}};
    const auto param = [&](const Json& tools, const Json& more = Json::object()) {
        return error_of(post_chat(service, chat_with_tools(tools, more)))["param"];
    };
    CHECK(param(Json::array({function, custom_tool("one")})) == "tools[1].custom.name");
    CHECK(param(Json::array({custom_tool("one"), function})) == "tools[1].function.name");
    CHECK(param(Json::array({function, function})) == "tools[1].function.name");
    CHECK(param(Json::array({custom_tool("two"), custom_tool("one"), custom_tool("two")})) ==
          "tools[2].custom.name");
    const Json both = Json::array({function, custom_tool("two")});
    CHECK(param(both, {{"tool_choice", custom_tool("one")}}) == "tool_choice");
    Json as_function = function;
    as_function["function"]["name"] = "two";
    CHECK(param(both, {{"tool_choice", as_function}}) == "tool_choice");
    const Json list = {{"mode", "auto"}, {"tools", Json::array({function, as_function})}};
    CHECK(param(both, {{"tool_choice", {{"type", "allowed_tools"}, {"allowed_tools", list}}}}) ==
          "tool_choice.allowed_tools.tools[1]");
}

TEST_CASE("a truncated call of a custom tool has its input so far") {
    FakeService service({.chat_template = tools_template,
                         .says = "<tool_call>\n{\"name\": \"patch\", \"arguments\": {\"input\": "
                                 "\"one two three four five six seven eight nine ten one two three four five "
                                 "six seven eight nine ten\"}}\n</tool_call>"});
    const Json choice = choice_of(
        post_chat(service, chat_with_tools(Json::array({custom_tool("patch")}), {{"max_tokens", 70}})));
    CHECK(choice["finish_reason"] == "length");
    const std::string input = choice["message"]["tool_calls"][0]["custom"]["input"];
    CHECK((input.starts_with("one two") && !input.ends_with("nine ten")));
}

TEST_CASE("a complete custom call is returned wherever a function call is") {
    FakeService service({.chat_template = tools_template, .says = patch_call});
    const Json function = {{"type", "function"}, {"function", {{"name", "patch"}}}};
    const auto message = [&](const Json& tool, const Json& more) {
        return choice_of(post_chat(service, chat_with_tools(Json::array({tool}), more)))["message"];
    };
    int truncated_after_call = 0;
    for (int tokens = 1; tokens < 150; ++tokens) {
        const Json more = {{"max_tokens", tokens}};
        const Json choice =
            choice_of(post_chat(service, chat_with_tools(Json::array({custom_tool("patch")}), more)));
        const Json calls = choice["message"].value("tool_calls", Json::array());
        CAPTURE(tokens, etna::dump_json(choice));
        if (message(function, more).contains("tool_calls"))
            CHECK(calls.size() == 1);
        for (const Json& call : calls) {
            const std::string input = call["custom"]["input"];
            CHECK(std::string(patch_input).starts_with(input));
            truncated_after_call += choice["finish_reason"] == "length" && input == patch_input ? 1 : 0;
        }
        if (choice["finish_reason"] == "tool_calls")
            break;
    }
    CHECK(truncated_after_call > 0);
    const Json stop = {{"stop", Json::array({"</tool_call>"})}};
    REQUIRE(message(function, stop)["tool_calls"].size() == 1);
    const Json stopped = message(custom_tool("patch"), stop);
    REQUIRE(stopped.contains("tool_calls"));
    CHECK(stopped["tool_calls"][0]["custom"]["input"] == patch_input);
}

TEST_CASE("a stored streamed chat has a custom call whose JSON was cut after the input") {
    FakeService service({.chat_template = tools_template, .says = patch_call});
    const Json more = {{"stream", true}, {"store", true}, {"stop", Json::array({"</tool_call>"})}};
    const auto stream = post_chat(service, chat_with_tools(Json::array({custom_tool("patch")}), more));
    CAPTURE(stream.body);
    const std::size_t at = stream.body.find("\"id\":\"") + 6;
    const std::string id = stream.body.substr(at, stream.body.find('"', at) - at);
    const Json stored = etna::parse_json(service.get(std::string(chats_path) + "/" + id).body);
    CAPTURE(etna::dump_json(stored));
    const Json message = stored["choices"][0]["message"];
    REQUIRE(message.contains("tool_calls"));
    CHECK(message["tool_calls"][0]["custom"]["input"] == patch_input);
}

TEST_CASE("all regular expressions of a request share one step budget") {
    const auto nested = [](std::size_t letters) {
        std::string text(letters, 'a');
        for (int i = 0; i < 190; ++i)
            text = "(" + text + "a)";
        return custom_tool("c", constrained_by("regex", text));
    };
    server::api::ExpressionSteps steps;
    const auto problem = [&steps](const Json& tool) {
        server::Fields fields(tool["custom"], "tools[0].custom");
        static_cast<void>(server::openai::read_custom_tool(fields, steps));
        return fields.problem() ? fields.problem()->message : std::string();
    };
    const uint64_t all = steps.left;
    const Json one = nested(50'000);
    CHECK(problem(one).empty());
    CHECK(all - steps.left < 1'000'000); // proportional to the length, not to the nesting
    std::string error;
    for (int i = 0; i < 100 && error.empty(); ++i)
        error = problem(one);
    CHECK(error ==
          "tools[0].custom.format.grammar.definition: the grammar is too large to be compiled; make it "
          "or its bounds smaller, or make it less ambiguous");
    CHECK_FALSE(problem(custom_tool("c", constrained_by("regex", "a)|(?:b"))).empty());
}

TEST_CASE("a request with too many long regular expressions is refused") {
    FakeService service({.chat_template = tools_template});
    Json tools = Json::array();
    for (int i = 0; i < 30; ++i)
        tools.push_back(
            custom_tool("c" + std::to_string(i), constrained_by("regex", std::string(100'000, 'a') + "()")));
    CHECK(error_of(post_chat(service, chat_with_tools(tools)))["param"] ==
          "tools[19].custom.format.grammar.definition");
    Json response_tools = Json::array();
    for (const Json& tool : tools) {
        response_tools.push_back({{"type", "custom"}, {"name", tool["custom"]["name"]}});
        response_tools.back()["format"] = {{"type", "grammar"},
                                           {"syntax", "regex"},
                                           {"definition", tool["custom"]["format"]["grammar"]["definition"]}};
    }
    const Json body = {{"input", "Go"}, {"tools", response_tools}};
    CHECK(error_of(service.post("/v1/responses", etna::dump_json(body)))["param"] ==
          "tools[19].format.definition");
}
