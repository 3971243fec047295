// Conversations with unanswered calls or messages, as they remain when a user stops a turn.

#include "core/chat/adapt.hpp"
#include "core/chat/conversation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/values.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

using namespace etna;
using namespace etna::chat;

namespace {

// As Mistral's templates: user and assistant alternate, apart from calls and results; answers are not empty;
// every call has a result.
constexpr std::string_view strict_template =
    "{% for t in tools or [] %}<{{ t.function.name }}>{% endfor %}"
    "{% set ns = namespace(n=0, open=0) %}{% for m in messages %}"
    "{% if m.role == 'tool' %}{% set ns.open = ns.open - 1 %}"
    "{% elif ns.open != 0 %}{{ raise_exception('calls and results differ in number') }}"
    "{% elif m.tool_calls %}{% set ns.open = m.tool_calls | length %}{% else %}"
    "{% if m.role == 'assistant' and not m.content %}{{ raise_exception('say something') }}{% endif %}"
    "{% if (m.role == 'user') != (ns.n % 2 == 0) %}{{ raise_exception('take turns') }}{% endif %}"
    "{% set ns.n = ns.n + 1 %}{% endif %}[{{ m.role }}:{{ m.content }}{% for c in m.tool_calls or [] %}"
    "({{ c.id }} {{ c.function.name }} {{ c.function.arguments | tojson }}){% endfor %}"
    "{% if m.tool_call_id %}({{ m.tool_call_id }}){% endif %}]{% endfor %}";

const Message asks = {.role = Role::user, .content = "A"};
const Message asks_again = {.role = Role::user, .content = "B"};
const Message answers = {.role = Role::assistant, .content = "C"};
const Message empty_answer = {.role = Role::assistant, .content = ""};
const Message only_reasoning = {.role = Role::assistant, .content = "", .reasoning = "D"};
const ToolCall first_call = {"abcdefgh1", "roll", R"({"sides": 6})"};
const ToolCall second_call = {"abcdefgh2", "roll", R"({"sides": 8})"};
const Message calls = {.role = Role::assistant, .content = "", .tool_calls = {first_call}};
const Message calls_twice = {.role = Role::assistant, .content = "", .tool_calls = {first_call, second_call}};

Message result(const ToolCall& call, const std::string& text) {
    return {.role = Role::tool, .content = text, .tool_call_id = call.id, .tool_name = call.name};
}

const std::vector<std::pair<const char*, std::vector<Message>>> unfinished = {
    {"results without an answer", {asks, calls, result(first_call, "not run"), asks_again}},
    {"calls without results", {asks, calls, asks_again}},
    {"one result for two calls", {asks, calls_twice, result(second_call, "4"), asks_again}},
    {"two results without an answer",
     {asks, calls_twice, result(first_call, "4"), result(second_call, "not run"), asks_again}},
    {"an empty answer", {asks, empty_answer, asks_again}},
    {"reasoning without an answer", {asks, only_reasoning, asks_again}},
    {"an empty answer after results", {asks, calls, result(first_call, "4"), empty_answer, asks_again}},
    {"calls without results at the end", {asks, answers, asks_again, calls}},
};

Conversation with_tool(const std::vector<Message>& messages) {
    return {.messages = messages,
            .tools = test::values_of(R"([{"type": "function", "function": {"name": "roll",
                "description": "Rolls a die", "parameters": {"type": "object", "properties": {"sides": {
                "type": "integer", "description": "of the die"}}, "required": ["sides"]}}}])")};
}

std::string strict_prompt(const std::vector<Message>& messages) {
    const auto chat_template = ChatTemplate::create(strict_template, {"<s>", "</s>"});
    REQUIRE(chat_template.has_value());
    const auto prompt = render_adapted(*chat_template, with_tool(messages), 0);
    INFO((prompt ? std::string() : prompt.error().message));
    REQUIRE(prompt.has_value());
    CHECK(prompt->notes.size() == 1);
    return prompt->text.substr(std::string_view("<roll>").size());
}

std::string file_content(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns the template's error message; empty if it renders.
std::string refusal(const ChatTemplate& chat_template, const std::vector<Message>& messages) {
    const auto prompt = render_adapted(chat_template, with_tool(messages), 0);
    return prompt ? std::string() : prompt.error().message;
}

} // namespace

TEST_CASE(
    "missing results and answers are replaced by placeholders if the template refuses the conversation") {
    const std::string call = "[assistant:(abcdefgh1 roll {\"sides\": 6})]";
    const std::string two = "[assistant:(abcdefgh1 roll {\"sides\": 6})(abcdefgh2 roll {\"sides\": 8})]";
    const std::string end = "[assistant:(no answer)][user:B]";
    CHECK(strict_prompt(unfinished[0].second) == "[user:A]" + call + "[tool:not run(abcdefgh1)]" + end);
    CHECK(strict_prompt(unfinished[1].second) == "[user:A]" + call + "[tool:(not run)(abcdefgh1)]" + end);
    CHECK(strict_prompt(unfinished[2].second) ==
          "[user:A]" + two + "[tool:4(abcdefgh2)][tool:(not run)(abcdefgh1)]" + end);
    CHECK(strict_prompt(unfinished[4].second) == "[user:A]" + end);
    CHECK(strict_prompt(unfinished[6].second) == "[user:A]" + call + "[tool:4(abcdefgh1)]" + end);
}

TEST_CASE("an unfinished turn is unchanged if the template renders it") {
    const auto plain = ChatTemplate::create(
        "{% for m in messages %}[{{ m.role }}:{{ m.content }}{% for c in m.tool_calls or "
        "[] %}({{ c.function.arguments | tojson }}){% endfor %}]{% endfor %}",
        {"<s>", "</s>"});
    REQUIRE(plain.has_value());
    const auto prompt = render_adapted(*plain, {.messages = unfinished[1].second}, 0);
    REQUIRE(prompt.has_value());
    CHECK(prompt->text == "[user:A][assistant:({\"sides\": 6})][user:B]");
    CHECK(prompt->notes.empty());
}

TEST_CASE("no template of the corpus refuses a conversation because of an unfinished turn") {
    const char* data = std::getenv("ETNA_REFERENCE_DATA");
    if (data == nullptr) {
        std::cout << "not run: unfinished turns in 84 chat templates (ETNA_REFERENCE_DATA is not set)\n";
        return;
    }
    const std::vector<Message> finished = {asks, calls, result(first_call, "4"), answers, asks_again};
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(data) / "templates")) {
        if (entry.path().extension() != ".jinja")
            continue;
        const std::string name = entry.path().stem().string();
        CAPTURE(name);
        const auto chat_template = ChatTemplate::create(file_content(entry.path()), {"<s>", "</s>"});
        REQUIRE(chat_template.has_value());
        if (!refusal(*chat_template, finished).empty())
            continue; // refuses the finished conversation, too
        ++count;
        for (const auto& [title, messages] : unfinished) {
            CAPTURE(title);
            CHECK(refusal(*chat_template, messages) == "");
        }
    }
    std::cout << "chat templates with unfinished turns: " << count << "\n";
    CHECK(count >= 80);
}

TEST_CASE("reasoning is read from each of its member names") {
    for (const char* name : {"reasoning_content", "reasoning", "thinking"}) {
        CAPTURE(name);
        const auto conversation =
            read_conversation(parse_request(R"({"messages": [{"role": "assistant", "content": "A", ")" +
                                            std::string(name) + R"(": "B"}]})")
                                  .value());
        REQUIRE(conversation.has_value());
        CHECK(conversation->messages[0].reasoning == "B");
    }
}

TEST_CASE("tools that are not a list are refused by reading and by rendering") {
    const auto request =
        parse_request(R"({"messages": [{"role": "user", "content": "A"}], "tools": 5})").value();
    const auto read = read_conversation(request);
    REQUIRE(!read.has_value());
    CHECK(read.error().kind == ErrorKind::invalid_argument);
    CHECK(read.error().message == "`tools` is not a list");
    const auto chat_template = ChatTemplate::create(strict_template, {"<s>", "</s>"});
    REQUIRE(chat_template.has_value());
    CHECK(!chat_template->render(request, 0).has_value());
    CHECK(read_conversation(parse_request(R"({"messages": [], "tools": null})").value()).has_value());
}
