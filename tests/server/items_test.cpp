// Items of the Responses API: what they may leave out, which messages they become, and what is wrong with
// them.
#include "server/responses/items.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace etna;
using namespace etna::server;

namespace {

struct Read {
    Json items;
    std::optional<ApiError> problem;
};

Read read(const std::string& input) {
    const Json body = etna::parse_json(R"({"input": )" + input + "}");
    Fields fields(body);
    Json items = responses::read_items(fields, "input");
    return {std::move(items), fields.problem()};
}

Json messages(const std::string& input) {
    const Read all = read(input);
    REQUIRE_FALSE(all.problem);
    return responses::messages_of(all.items, responses::ToolNames());
}

/// The member that is wrong.
std::string wrong(const std::string& input) {
    const Read all = read(input);
    return all.problem ? all.problem->param.value_or("none") : "nothing";
}

Json parsed(const std::string& text) {
    return etna::parse_json(text);
}

} // namespace

TEST_CASE("items get what they may leave out") {
    const Json item = read(R"([{"role": "user", "content": "A"}])").items[0];
    CHECK(item["type"] == "message");
    CHECK(item["id"].get<std::string>().starts_with("msg_"));
    CHECK(item["status"] == "completed");
    CHECK(item["content"] == parsed(R"([{"type": "input_text", "text": "A"}])"));
    CHECK(read(R"("A")").items[0]["content"] == item["content"]);
    const Json answer =
        read(R"([{"role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "B"}]}])")
            .items[0];
    CHECK(answer["id"] == "msg_1");
    CHECK(answer["content"][0]["annotations"] == Json::array());
    CHECK(read(R"([{"type": "reasoning", "id": "rs_1"}])").items[0]["summary"] == Json::array());
    CHECK(read(R"([{"id": "msg_1"}])").items[0]["type"] == "item_reference");
}

TEST_CASE("items become messages in their order") {
    CHECK(messages(R"([{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "A"}])") ==
          parsed(R"([{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "A"}])"));
    CHECK(messages(R"([{"role": "assistant", "content": [{"type": "output_text", "text": "A"},
                       {"type": "refusal", "refusal": "no"}]}])") ==
          parsed(R"([{"role": "assistant", "content": "Ano"}])"));
    CHECK(
        messages(R"([{"role": "user", "content": [{"type": "input_text", "text": "A", "refusal": "B"}]}])") ==
        parsed(R"([{"role": "user", "content": "A"}])"));
    CHECK(messages("[]") == Json::array());
}

TEST_CASE("calls stand in one message with the text before them, and their results follow") {
    const Json made = messages(R"([{"role": "user", "content": "Go"},
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}]},
        {"role": "assistant", "content": "I look."},
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{\"x\":1}"},
        {"type": "custom_tool_call", "call_id": "b", "name": "patch", "input": "\"\n"},
        {"type": "function_call_output", "call_id": "a", "output": "seen"},
        {"type": "custom_tool_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "done"}]}])");
    REQUIRE(made.size() == 4);
    CHECK(made[1]["content"] == "I look.");
    CHECK(made[1]["reasoning_content"] == "Hm.");
    REQUIRE(made[1]["tool_calls"].size() == 2);
    CHECK(made[1]["tool_calls"][0]["function"]["arguments"] == R"({"x":1})");
    CHECK(parsed(made[1]["tool_calls"][1]["function"]["arguments"])["input"] == "\"\n");
    CHECK(made[2] == parsed(R"({"role": "tool", "tool_call_id": "a", "content": "seen"})"));
    CHECK(made[3]["content"] == "done");
}

TEST_CASE("reasoning before a call begins a message of its own") {
    const Json made = messages(R"([{"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "Hm."}]},
        {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"}])");
    REQUIRE(made.size() == 2);
    CHECK_FALSE(made[0].contains("reasoning_content"));
    CHECK(made[1]["reasoning_content"] == "Hm.");
}

TEST_CASE("mistakes in items are told with their place") {
    CHECK(wrong("3") == "input");
    CHECK(wrong("[3]") == "input[0]");
    CHECK(wrong(R"([{"type": "web_search_call"}])") == "input[0].type");
    CHECK(wrong(R"([{"type": 3}])") == "input[0].type");
    CHECK(wrong(R"([{"role": "user", "content": "A"}, {"role": "nobody", "content": "A"}])") ==
          "input[1].role");
    CHECK(wrong(R"([{"role": "user"}])") == "input[0].content");
    CHECK(wrong(R"([{"role": "user", "content": 3}])") == "input[0].content");
    CHECK(wrong(R"([{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}])") ==
          "input[0].content[0]");
    CHECK(wrong(R"([{"role": "user", "content": [{"type": "input_text"}]}])") == "input[0].content[0]");
    CHECK(wrong(R"([{"type": "function_call", "name": "f", "arguments": "{}"}])") == "input[0].call_id");
    CHECK(wrong(R"([{"type": "function_call", "call_id": "a", "name": "f", "arguments": {}}])") ==
          "input[0].arguments");
    CHECK(wrong(R"([{"type": "function_call_output", "call_id": "a"}])") == "input[0].output");
    CHECK(wrong(R"([{"type": "reasoning", "content": ["x"]}])") == "input[0].content[0]");
    CHECK(wrong(R"([{"type": "reasoning", "summary": [{"text": 3}]}])") == "input[0].summary[0]");
    CHECK(wrong(R"([{"type": "reasoning", "content": [{"type": "refusal", "text": "x"}]}])") ==
          "input[0].content[0]");
    CHECK(wrong(R"([{"type": "reasoning", "content": [{"type": 5, "text": "x"}]}])") ==
          "input[0].content[0]");
    CHECK(wrong(R"([{"role": "user", "content": "A", "status": 7}])") == "input[0].status");
    CHECK(wrong(R"([{"type": "compaction"}])") == "input[0].encrypted_content");
    CHECK(wrong(R"([{"type": "item_reference"}])") == "input[0].id");
}
