// Tool calls and reasoning in responses: items, events, and requests that continue from them.
#include "core/base/json.hpp"
#include "tests/server/api_client.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <string>
#include <string_view>

using namespace etna;
using namespace etna::test;

TEST_CASE("a call is an item, and its result continues the response") {
    const std::string tools = R"(, "tools": [{"type": "function", "name": "look", "parameters":
        {"type": "object", "properties": {"at": {"type": "string"}}}}])";
    FakeService service(
        {.chat_template = marked_template,
         .says = "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"it\"}}\n</tool_call>"});
    const Json response = create_response(service, response_body("Look!", tools));
    REQUIRE(response["output"].size() == 1);
    const Json& call = response["output"][0];
    CHECK((call["type"] == "function_call" && call["name"] == "look" && call["status"] == "completed"));
    CHECK(etna::parse_json(call["arguments"].get<std::string>())["at"] == "it");
    CHECK(response["output_text"] == "");
    const auto events =
        events_of(service.post(responses_path, response_body("Look!", tools + R"(, "stream": true)")).body);
    std::string arguments;
    for (const Json& event : events) {
        if (event["type"] == "response.function_call_arguments.delta")
            arguments += event["delta"].get<std::string>();
        if (event["type"] == "response.function_call_arguments.done")
            CHECK(event["arguments"] == arguments);
    }
    CHECK(etna::parse_json(arguments)["at"] == "it");
    const std::string result =
        R"({"input": [{"type": "function_call_output", "call_id": ")" + call["call_id"].get<std::string>() +
        R"(", "output": "nothing"}], "max_output_tokens": 60, "previous_response_id": ")" +
        response["id"].get<std::string>() + "\"" + tools + "}";
    CHECK(create_response(service, result)["status"] == "completed");
}

TEST_CASE("a custom tool call has text input") {
    FakeService service({.chat_template = marked_template,
                         .says = "<tool_call>\n{\"name\": \"patch\", \"arguments\": {\"input\": "
                                 "\"a\\n\\\"b\\\" \\u00e9\"}}\n</tool_call>"});
    const std::string tools = R"(, "tools": [{"type": "custom", "name": "patch"}])";
    const auto events =
        events_of(service.post(responses_path, response_body("Go", tools + R"(, "stream": true)")).body);
    std::string input;
    for (const Json& event : events) {
        if (event["type"] == "response.custom_tool_call_input.delta")
            input += event["delta"].get<std::string>();
    }
    CHECK(input == "a\n\"b\" \u00e9");
    const Json& call = events.back()["response"]["output"][0];
    CHECK((call["type"] == "custom_tool_call" && call["name"] == "patch" && call["input"] == input));
}

TEST_CASE("a truncated custom call has its input so far") {
    FakeService service(
        {.chat_template = marked_template,
         .says = "<tool_call>\n{\"name\": \"patch\", \"arguments\": {\"input\": "
                 "\"one two three four five six seven eight nine ten one two three four five six seven "
                 "eight nine ten one two three four five six seven eight nine ten\"}}\n</tool_call>"});
    const std::string body = R"({"input": "Go", "max_output_tokens": 90, "temperature": 0, "stream": true,
        "tools": [{"type": "custom", "name": "patch"}]})";
    std::string input;
    Json done;
    const auto events = events_of(service.post(responses_path, body).body);
    for (const Json& event : events) {
        if (event["type"] == "response.custom_tool_call_input.delta")
            input += event["delta"].get<std::string>();
        if (event["type"] == "response.custom_tool_call_input.done")
            done = event["input"];
    }
    CHECK((input.starts_with("one") && !input.ends_with("ten")));
    CHECK(done == input);
    CHECK(events.back()["response"]["output"].back()["input"] == input);
}

TEST_CASE("the input of a custom tool is constrained by its grammar") {
    // The template lists the tools: otherwise their description would fill the small context.
    const std::string with_tools = "{% for t in tools or [] %}{{ t.function.name }}{% endfor %}";
    FakeService service({.chat_template = with_tools + marked_template});
    const auto request_with = [](std::string_view syntax, std::string_view definition) {
        const Json format = {{"type", "grammar"}, {"syntax", syntax}, {"definition", definition}};
        const Json tools = Json::array({Json{{"type", "custom"}, {"name", "count"}, {"format", format}}});
        const Json body = {{"input", "Go"},  {"max_output_tokens", 400},  {"temperature", 0},
                           {"tools", tools}, {"tool_choice", "required"}, {"parallel_tool_calls", false}};
        return etna::dump_json(body);
    };
    const auto input_of = [&](std::string_view syntax, std::string_view definition) {
        const Json answer = create_response(service, request_with(syntax, definition));
        INFO(etna::dump_json(answer));
        REQUIRE(answer["status"] == "completed");
        REQUIRE(answer["output"].size() == 1);
        return answer["output"][0].value("input", "none");
    };
    CHECK(input_of("lark", "start: \"say \\\"\" NUMBER \"\\\"\\n\"\nNUMBER: \"7\"") == "say \"7\"\n");
    CHECK(input_of("regex", "say \"7\"\\n") == "say \"7\"\n");
    const std::string nested = input_of("lark", "start: \"[\" item? \"]\"\nitem: \"(\" item? \")\"");
    CHECK(nested.front() == '[');
    CHECK(nested.back() == ']');
    CHECK(std::count(nested.begin(), nested.end(), '(') == std::count(nested.begin(), nested.end(), ')'));

    const Json wrong = error_of(service.post(responses_path, request_with("lark", "start: \"a\"\n  | item")));
    CHECK(wrong["param"] == "tools[0].format.definition");
    CHECK(wrong["message"] ==
          "tools[0].format.definition: the grammar, line 2, column 5: the rule "
          "`item` is undefined; a rule looks like this: start: \"yes\" | \"no\" /[0-9]+/");
    const Json unsupported =
        error_of(service.post(responses_path, request_with("lark", "start: start \"a\" | \"b\"")));
    CHECK(unsupported["param"] == "tools[0].format.definition");
    const Json pattern = error_of(service.post(responses_path, request_with("regex", "(")));
    CHECK(pattern["param"] == "tools[0].format.definition");
    CHECK(pattern["message"].get<std::string>().starts_with(
        "tools[0].format.definition: the regular expression"));
    const Json schema = error_of(
        service.post(responses_path, response_body("Go", R"(, "tools": [{"type": "function", "name": "f",
        "strict": true, "parameters": {"type": "dict"}}])")));
    CHECK(schema["param"] == "tools[0].parameters");
}

TEST_CASE("reasoning is a separate item, with a summary if requested") {
    FakeService service({.chat_template = marked_template, .says = "<think>one\n\ntwo</think>so"});
    const Json plain = create_response(service, response_body("Well?"));
    REQUIRE(plain["output"].size() == 2);
    CHECK(plain["output"][0]["type"] == "reasoning");
    CHECK(plain["output"][0]["content"][0]["text"] == "one\n\ntwo");
    CHECK(plain["output"][0]["summary"].empty());
    CHECK(plain["output"][1]["content"][0]["text"] == "so");
    CHECK(plain["usage"]["output_tokens_details"]["reasoning_tokens"] > 0);
    const Json summed =
        create_response(service, response_body("Well?", R"(, "reasoning": {"summary": "auto"})"));
    CHECK(summed["output"][0]["summary"][0]["text"] == "one");
    const Json sealed =
        create_response(service, response_body("Well?", R"(, "include": ["reasoning.encrypted_content"])"));
    const std::string secret = sealed["output"][0]["encrypted_content"];
    CHECK(secret.find("one") == std::string::npos);
    const auto with = [](const std::string& reasoning) {
        return R"({"max_output_tokens": 60, "input": [{"role": "user", "content": "x"}, )" + reasoning +
               R"(, {"role": "assistant", "content": "so"}, {"role": "user", "content": "y"}]})";
    };
    const auto item = [](const std::string& text) {
        return R"({"type": "reasoning", "summary": [], "encrypted_content": ")" + text + "\"}";
    };
    CHECK(create_response(service, with(item(secret)))["status"] == "completed");
    CHECK(error_of(service.post(responses_path, with(item(secret.substr(1) + "A"))))["param"] == "input[1]");
}
