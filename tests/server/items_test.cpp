// Items of the Responses API: their optional members, their conversion to messages, and their errors.
#include "core/base/json.hpp"
#include "server/faces/responses/items.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace etna;
using namespace etna::server;

namespace {

struct ReadItems {
    Json items;
    std::optional<ApiError> problem;
};

ReadItems read_input(const std::string& input) {
    const Json body = etna::parse_json(R"({"input": )" + input + "}");
    Fields fields(body);
    Json items = responses::read_items(fields, "input");
    return {std::move(items), fields.problem()};
}

std::vector<chat::Message> messages_from(const std::string& input) {
    const ReadItems all = read_input(input);
    REQUIRE_FALSE(all.problem);
    return responses::messages_of(all.items, responses::ToolNames());
}

/// The path of the error; "none" if there is no path, "nothing" if there is no error.
std::string error_path(const std::string& input) {
    const ReadItems all = read_input(input);
    return all.problem ? all.problem->param.value_or("none") : "nothing";
}

Json json_from(const std::string& text) {
    return etna::parse_json(text);
}

} // namespace

TEST_CASE("absent members of items get their defaults") {
    const Json item = read_input(R"([{"role": "user", "content": "A"}])").items[0];
    CHECK(item["type"] == "message");
    CHECK(item["id"].get<std::string>().starts_with("msg_"));
    CHECK(item["status"] == "completed");
    CHECK(item["content"] == json_from(R"([{"type": "input_text", "text": "A"}])"));
    CHECK(read_input(R"("A")").items[0]["content"] == item["content"]);
    const Json answer =
        read_input(
            R"([{"role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "B"}]}])")
            .items[0];
    CHECK(answer["id"] == "msg_1");
    CHECK(answer["content"][0]["annotations"] == Json::array());
    CHECK(read_input(R"([{"type": "reasoning", "id": "rs_1"}])").items[0]["summary"] == Json::array());
    CHECK(read_input(R"([{"id": "msg_1"}])").items[0]["type"] == "item_reference");
}

TEST_CASE("items become messages in order") {
    const auto two =
        messages_from(R"([{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "A"}])");
    REQUIRE(two.size() == 2);
    CHECK((two[0].role == chat::Role::system && two[0].content == "Be brief."));
    CHECK((two[1].role == chat::Role::user && two[1].content == "A"));
    const auto refused = messages_from(R"([{"role": "assistant", "content": [
        {"type": "output_text", "text": "A"}, {"type": "refusal", "refusal": "no"}]}])");
    REQUIRE(refused.size() == 1);
    CHECK((refused[0].role == chat::Role::assistant && refused[0].content == "Ano"));
    const auto text = messages_from(
        R"([{"role": "user", "content": [{"type": "input_text", "text": "A", "refusal": "B"}]}])");
    REQUIRE(text.size() == 1);
    CHECK(text[0].content == "A");
    CHECK(messages_from("[]").empty());
}

TEST_CASE("calls join the message of the text before them, and results follow") {
    const auto converted = messages_from(R"([{"role": "user", "content": "Go"},
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}]},
        {"role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{\"x\":1}"},
        {"type": "custom_tool_call", "call_id": "b", "name": "patch", "input": "\"\n"},
        {"type": "function_call_output", "call_id": "a", "output": "seen"},
        {"type": "custom_tool_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "done"}]}])");
    REQUIRE(converted.size() == 4);
    CHECK(converted[1].content == "I look.");
    CHECK(converted[1].reasoning == "Hm.");
    REQUIRE(converted[1].tool_calls.size() == 2);
    CHECK(converted[1].tool_calls[0].arguments == R"({"x":1})");
    CHECK(json_from(converted[1].tool_calls[1].arguments)["input"] == "\"\n");
    CHECK(converted[2].role == chat::Role::tool);
    CHECK(converted[2].tool_call_id == "a");
    CHECK(converted[2].content == "seen");
    CHECK(converted[3].content == "done");
}

TEST_CASE("reasoning before a call starts a new message") {
    const auto converted =
        messages_from(R"([{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}]},
        {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"}])");
    REQUIRE(converted.size() == 2);
    CHECK(converted[0].reasoning.empty());
    CHECK(converted[1].reasoning == "Hm.");
}

TEST_CASE("calls without ids get ids, and their results the same ones") {
    for (const char* const id : {R"("call_id": null, )", R"("call_id": "", )", ""}) {
        CAPTURE(id);
        const std::string call =
            std::string(R"({"type": "function_call", )") + id + R"("name": "f", "arguments": "{}"})";
        const std::string result =
            std::string(R"({"type": "function_call_output", )") + id + R"("output": "x"})";
        const Json items = read_input("[" + call + "," + call + "," + result + "," + result + "]").items;
        REQUIRE(items.size() == 4);
        CHECK(items[0]["call_id"].get<std::string>().starts_with("call_"));
        CHECK(items[0]["call_id"] != items[1]["call_id"]);
        CHECK(items[2]["call_id"] == items[0]["call_id"]);
        CHECK(items[3]["call_id"] == items[1]["call_id"]);
    }
}

TEST_CASE("arguments of a call are the text that the model wrote") {
    const auto arguments = [](const std::string& written) {
        const auto read =
            messages_from(R"([{"type": "function_call", "call_id": "a", "name": "f")" + written + "}]");
        REQUIRE(read.size() == 1);
        return read[0].tool_calls.at(0).arguments;
    };
    CHECK(arguments(R"(, "arguments": "{\"x\": ")") == "{\"x\": ");
    CHECK(arguments(R"(, "arguments": {"x": 1})") == R"({"x":1})");
    CHECK(arguments(R"(, "arguments": [1])") == "[1]");
    CHECK(arguments(R"(, "arguments": null)") == "{}");
    CHECK(arguments("") == "{}");
}

TEST_CASE("errors in items have their path") {
    CHECK(error_path("3") == "input");
    CHECK(error_path("[3]") == "input[0]");
    CHECK(error_path(R"([{"type": "web_search_call"}])") == "input[0].type");
    CHECK(error_path(R"([{"type": 3}])") == "input[0].type");
    CHECK(error_path(R"([{"role": "user", "content": "A"}, {"role": "nobody", "content": "A"}])") ==
          "input[1].role");
    CHECK(error_path(R"([{"role": "user"}])") == "input[0].content");
    CHECK(error_path(R"([{"role": "user", "content": 3}])") == "input[0].content");
    CHECK(error_path(R"([{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}])") ==
          "input[0].content[0]");
    CHECK(error_path(R"([{"role": "user", "content": [{"type": "input_text"}]}])") == "input[0].content[0]");
    CHECK(error_path(R"([{"type": "function_call", "call_id": "a", "arguments": "{}"}])") == "input[0].name");
    CHECK(error_path(R"([{"type": "function_call", "call_id": 5, "name": "f", "arguments": "{}"}])") ==
          "input[0].call_id");
    CHECK(error_path(R"([{"type": "function_call_output", "output": "x"}])") == "input[0].call_id");
    CHECK(error_path(R"([{"type": "function_call_output", "call_id": "a"}])") == "input[0].output");
    CHECK(error_path(R"([{"type": "reasoning", "content": ["x"]}])") == "input[0].content[0]");
    CHECK(error_path(R"([{"type": "reasoning", "summary": [{"text": 3}]}])") == "input[0].summary[0]");
    CHECK(error_path(R"([{"type": "reasoning", "content": [{"type": "refusal", "text": "x"}]}])") ==
          "input[0].content[0]");
    CHECK(error_path(R"([{"type": "reasoning", "content": [{"type": 5, "text": "x"}]}])") ==
          "input[0].content[0]");
    CHECK(error_path(R"([{"role": "user", "content": "A", "status": 7}])") == "input[0].status");
    CHECK(error_path(R"([{"type": "compaction"}])") == "input[0].encrypted_content");
    CHECK(error_path(R"([{"type": "item_reference"}])") == "input[0].id");
}
