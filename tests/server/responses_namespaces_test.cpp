// Tools of the Responses API: namespaces, hosted tools, choices, and implied strictness.
#include "core/base/json.hpp"
#include "server/faces/responses/items.hpp"
#include "server/faces/responses/tools.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;
using namespace etna::server;

namespace {

constexpr const char* namespaced_tools = R"([
    {"type": "function", "name": "look"},
    {"type": "function", "name": "a__look"},
    {"type": "namespace", "name": "a", "description": "Of a.", "tools": [
        {"type": "function", "name": "look", "description": "Looks."}, {"type": "custom", "name": "patch"}]},
    {"type": "namespace", "name": "b", "tools": [{"type": "function", "name": "look"},
        {"type": "function", "name": "go"}]}])";

struct ReadTools {
    server::responses::Tools tools;
    std::optional<ApiError> problem;
};

ReadTools read_tools_of(const std::string& members) {
    const Json body = etna::parse_json("{" + members + "}");
    Fields fields(body);
    server::responses::Tools tools = server::responses::read_tools(fields);
    return {std::move(tools), fields.problem()};
}

/// The names of the tools that the model is offered.
std::vector<std::string> offered_names(const server::responses::Tools& tools) {
    std::vector<std::string> names;
    for (const server::api::Tool& tool : tools.functions)
        names.push_back(name_of(tool));
    return names;
}

/// The function that the model must call; the path of the error if there is one.
std::string chosen_function(const std::string& choice) {
    const ReadTools all =
        read_tools_of(std::string(R"("tools": )") + namespaced_tools + R"(, "tool_choice": )" + choice);
    if (all.problem)
        return "wrong: " + all.problem->param.value_or("none");
    return all.tools.choice.required.value_or("none");
}

} // namespace

TEST_CASE("namespace members are flattened to tools with unique names") {
    const ReadTools all = read_tools_of(std::string(R"("tools": )") + namespaced_tools);
    REQUIRE_FALSE(all.problem);
    CHECK(offered_names(all.tools) ==
          std::vector<std::string>{"look", "a__look", "a__look_2", "a__patch", "b__look", "b__go"});
    const auto* const patch = all.tools.names.find("a__patch");
    REQUIRE(patch != nullptr);
    CHECK((patch->name_space == "a" && patch->name == "patch" && patch->is_custom));
    CHECK(all.tools.names.find("a__look")->name_space.empty());
    CHECK(all.tools.names.find("patch") == nullptr);
    const Json& first = all.tools.functions[2].function["function"];
    CHECK(first["description"] == "(About all tools of a: Of a.)\nLooks.");
    CHECK(all.tools.echoed[2]["type"] == "namespace"); // as in the request, not as offered to the model
    CHECK(all.tools.echoed[2]["tools"][0]["name"] == "look");
    CHECK(all.tools.echoed[2]["tools"][0]["description"] == "Looks.");
}

TEST_CASE("errors in a namespace have their path") {
    const auto wrong = [](const std::string& tools) {
        const ReadTools all = read_tools_of(R"("tools": )" + tools);
        return all.problem ? all.problem->param.value_or("none") : "nothing";
    };
    CHECK(wrong(R"([{"type": "namespace", "tools": []}])") == "tools[0].name");
    CHECK(wrong(R"([{"type": "namespace", "name": "", "tools": []}])") == "tools[0].name");
    CHECK(wrong(R"([{"type": "namespace", "name": "a"}])") == "tools[0].tools");
    CHECK(wrong(R"([{"type": "namespace", "name": "a", "tools": [1]}])") == "tools[0].tools[0]");
    CHECK(wrong(R"([{"type": "namespace", "name": "a", "tools": [{"type": "web_search"}]}])") ==
          "tools[0].tools[0].type");
    const std::string look = R"({"type": "function", "name": "look"})";
    const std::string twice =
        R"([{"type": "namespace", "name": "a", "tools": [)" + look + ", " + look + "]}]";
    CHECK(wrong(twice) == "tools[0].tools[1].name");
    FakeService service({.chat_template = marked_template});
    const Json schema =
        error_of(service.post(responses_path, response_body("Go", R"(, "tools": [{"type": "web_search"},
        {"type": "namespace", "name": "a", "tools": [{"type": "function", "name": "f", "strict": true,
        "parameters": {"type": "dict"}}]}])")));
    CHECK(schema["param"] == "tools[1].tools[0].parameters");
    CHECK(schema["message"].get<std::string>().starts_with("tools[1].tools[0].parameters"));
}

TEST_CASE("a call of a namespace member names its namespace, and its result is accepted") {
    FakeService service(
        {.prepare = [](FakeOptions& fake, int) { fake.limits.context_tokens = 2048; },
         .chat_template = marked_template,
         .says = "<tool_call>\n{\"name\": \"b__look\", \"arguments\": {\"at\": \"it\"}}\n</tool_call>"});
    const std::string tools = std::string(R"(, "tools": )") + namespaced_tools;
    const FakeAnswer streamed = service.post(
        responses_path, R"({"input": "Look!", "max_output_tokens": 200, "stream": true)" + tools + "}");
    REQUIRE(streamed.status == 200);
    const auto events = events_of(streamed.body);
    for (const Json& event : events) {
        if (event["type"] == "response.output_item.added" || event["type"] == "response.output_item.done")
            CHECK((event["item"]["namespace"] == "b" && event["item"]["name"] == "look"));
        if (event["type"] == "response.function_call_arguments.done")
            CHECK(event["name"] == "look");
    }
    const Json call = events.back()["response"]["output"][0];
    CHECK((call["type"] == "function_call" && call["namespace"] == "b" && call["name"] == "look"));
    const Json result = {
        {"type", "function_call_output"}, {"call_id", call["call_id"]}, {"output", "nothing"}};
    const Json input = Json::array({Json{{"role", "user"}, {"content", "Look!"}}, call, result});
    const Json body = {
        {"input", input}, {"max_output_tokens", 200}, {"tools", etna::parse_json(namespaced_tools)}};
    CHECK(create_response(service, etna::dump_json(body))["status"] == "completed");

    // The model's names of the tools appear in its calls.
    const ReadTools all = read_tools_of(std::string(R"("tools": )") + namespaced_tools);
    Json items = input;
    items[0]["type"] = "message";
    CHECK(server::responses::messages_of(items, all.tools.names)[1].tool_calls[0].name == "b__look");
    items[1]["namespace"] = "a";
    CHECK(server::responses::messages_of(items, all.tools.names)[1].tool_calls[0].name == "a__look_2");
    items[1]["namespace"] = "gone"; // no longer offered
    CHECK(server::responses::messages_of(items, all.tools.names)[1].tool_calls[0].name == "gone__look");
}

TEST_CASE("tool_choice accepts the format of either API, with a namespace") {
    CHECK(chosen_function(R"({"type": "function", "name": "look"})") == "look");
    CHECK(chosen_function(R"({"type": "function", "function": {"name": "look"}})") == "look");
    CHECK(chosen_function(R"({"type": "function", "name": "look", "namespace": "b"})") == "b__look");
    CHECK(chosen_function(R"({"type": "function", "name": "look", "namespace": "a"})") == "a__look_2");
    CHECK(chosen_function(R"({"type": "function", "name": "go"})") == "b__go");
    CHECK(chosen_function(R"({"type": "custom", "name": "patch"})") == "a__patch");
    CHECK(chosen_function(R"({"type": "function", "name": 1})") == "wrong: tool_choice");
    const ReadTools ambiguous = read_tools_of(R"("tools": [
        {"type": "namespace", "name": "a", "tools": [{"type": "function", "name": "go"}]},
        {"type": "namespace", "name": "b", "tools": [{"type": "function", "name": "go"}]}],
        "tool_choice": {"type": "function", "name": "go"})");
    REQUIRE(ambiguous.problem);
    CHECK(ambiguous.problem->message.find("the namespaces a, b") != std::string::npos);
}

TEST_CASE("hosted tools are omitted and reported, unless a choice requires one") {
    FakeService service({.chat_template = marked_template, .says = "a dog"});
    const std::string tools = R"(, "tools": [{"type": "function", "name": "look"},
        {"type": "web_search", "external_web_access": false}, {"type": "image_generation"},
        {"type": "mcp", "server_label": "x", "server_url": "https://example.com"}])";
    const FakeAnswer answer = service.post(responses_path, response_body("Go", tools));
    CHECK(answer.status == 200);
    CHECK(answer.headers.at("etna-ignored") == "tools.web_search, tools.image_generation, tools.mcp");
    const Json tools_echoed = etna::parse_json(answer.body)["tools"];
    CHECK((tools_echoed.size() == 1 && tools_echoed[0]["name"] == "look"));
    const auto choice = [&](const std::string& given) {
        const FakeAnswer chosen_function =
            service.post(responses_path, response_body("Go", tools + R"(, "tool_choice": )" + given));
        return chosen_function.status == 200
                   ? "taken"
                   : etna::parse_json(chosen_function.body)["error"]["message"].get<std::string>();
    };
    CHECK(choice(R"({"type": "web_search"})") == "`tool_choice` requires web_search, which this server "
                                                 "cannot run; require a function or a custom tool");
    CHECK(choice(R"({"type": "mcp", "server_label": "x"})").starts_with("`tool_choice` requires mcp"));
    CHECK(choice(R"({"type": "allowed_tools", "mode": "required", "tools": [{"type": "web_search"}]})")
              .starts_with("`tool_choice` requires web_search"));
    CHECK(choice(R"({"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"},
        {"type": "function", "name": "look"}]})") == "taken");
    const FakeAnswer nothing_else = service.post(
        responses_path,
        response_body("Go", R"(, "tools": [{"type": "web_search"}], "tool_choice": "required")"));
    CHECK(error_of(nothing_else)["message"].get<std::string>().starts_with(
        "`tool_choice` requires one of web"));
    const FakeAnswer strict = post_strictly(service, responses_path, response_body("Go", tools));
    CHECK(error_of(strict)["param"] == "tools.web_search");
}

TEST_CASE("a function without `strict` is strict if its schema is closed") {
    const auto is_strict = [](const std::string& more) {
        const ReadTools all =
            read_tools_of(R"("tools": [{"type": "function", "name": "f", "parameters": {"type": "object",
            "properties": {"city": {"enum": ["Oslo", "Rome"]}})" +
                          more + "}]");
        REQUIRE_FALSE(all.problem);
        const bool strict = all.tools.functions[0].function["function"].value("strict", false);
        CHECK(all.tools.echoed[0]["strict"] == strict);
        return strict;
    };
    const std::string closed = R"(, "required": ["city"], "additionalProperties": false})";
    CHECK(is_strict(closed));
    CHECK(is_strict(closed + R"(, "strict": null)"));
    CHECK(is_strict(closed + R"(, "strict": true)"));
    CHECK_FALSE(is_strict(closed + R"(, "strict": false)"));
    CHECK_FALSE(is_strict(R"(, "required": ["city"]})"));
    CHECK_FALSE(is_strict(R"(, "additionalProperties": false})"));
    FakeService service(
        {.chat_template = marked_template,
         .says = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>"});
    const Json response =
        create_response(service, response_body("Go", R"(, "tools": [{"type": "function", "name": "f",
        "parameters": {"type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}})" +
                                                         closed + "}]"));
    const Json call = response["output"].back();
    REQUIRE(call["type"] == "function_call");
    const Json city = etna::parse_json(call["arguments"].get<std::string>())["city"];
    CHECK((city == "Oslo" || city == "Rome"));
}

TEST_CASE("is_closed_schema() accepts the schemas of generators for strict functions") {
    const auto is_closed = [](const char* schema) {
        return server::responses::is_closed_schema(etna::parse_json(schema));
    };
    CHECK(is_closed(R"({"type": "object", "properties": {}, "additionalProperties": false})"));
    CHECK(is_closed(R"({"$schema": "x", "title": "T", "type": "object", "properties": {
        "a": {"type": "array", "items": {"$ref": "#/$defs/A"}}, "b": {"anyOf": [{"type": "integer", "minimum": 1},
        {"type": "null"}], "default": null}, "c": {"type": ["string", "null"]}}, "required": ["c", "b", "a"],
        "additionalProperties": false, "$defs": {"A": {"type": "object", "properties": {"next": {"$ref": "#"}},
        "required": ["next"], "additionalProperties": false}}})"));
    for (const char* const open :
         {"1", "{}", R"({"type": "string"})", R"({"type": "object"})", R"({"type": "dict"})",
          R"({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": false})",
          R"({"type": "object", "properties": {"a": {"type": "str"}}, "required": ["a"],
                "additionalProperties": false})",
          R"({"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}, "required": ["a"],
                "additionalProperties": false})",
          R"({"type": "object", "properties": {"a": {"$ref": "#/$defs/B"}}, "required": ["a"],
                "additionalProperties": false, "$defs": {}})",
          R"({"type": "object", "properties": {"a": {"type": "object"}}, "required": ["a"],
                "additionalProperties": false})",
          R"({"type": "object", "properties": {"a": {"enum": []}}, "required": ["a"],
                "additionalProperties": false})",
          R"({"type": "object", "properties": {"a": {"type": "string", "required": true}}, "required": ["a"],
                "additionalProperties": false})",
          R"({"type": "object", "properties": 1, "required": 1, "additionalProperties": false})"}) {
        CAPTURE(open);
        CHECK_FALSE(is_closed(open));
    }
}
