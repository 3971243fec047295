// Every text, call and tool of a conversation is in its prompt, whatever the template does with it.

#include "core/chat/adapt.hpp"
#include "core/chat/conversation.hpp"
#include "core/chat/template_report.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/values.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace etna;
using namespace etna::chat;

namespace {

using Messages = std::vector<Message>;

// As gpt-oss, MiniMax and Phi-4: only the first system message counts.
constexpr std::string_view drops_late_systems =
    "{%- set rest = messages -%}{%- if messages[0].role == 'system' -%}[system:{{ messages[0].content }}]"
    "{%- set rest = messages[1:] -%}{%- endif -%}{%- for t in tools or [] -%}<{{ t.function.name }}>{%- "
    "endfor -%}"
    "{%- for m in rest -%}{%- if m.role in ['user', 'assistant'] -%}[{{ m.role }}:{{ m.content }}"
    "{%- for c in m.tool_calls or [] -%}({{ c.function.name }} {{ c.function.arguments | tojson }}){%- "
    "endfor -%}]"
    "{%- elif m.role == 'tool' -%}[tool:{{ m.content }}]{%- endif -%}{%- endfor -%}";

// As DeepSeek V3: system messages are collected at the start.
constexpr std::string_view collects_systems =
    "{%- for m in messages if m.role == 'system' -%}[system:{{ m.content }}]{%- endfor -%}"
    "{%- for m in messages if m.role != 'system' -%}[{{ m.role }}:{{ m.content }}]{%- endfor -%}";

// As Qwen3.5: a later system message is an error.
constexpr std::string_view refuses_late_systems =
    "{%- for m in messages -%}{%- if m.role == 'system' and not loop.first -%}"
    "{{ raise_exception('system first') }}{%- endif -%}[{{ m.role }}:{{ m.content }}]{%- endfor -%}";

// As Mistral's: one system message at the start, alternating turns, ids of nine letters, one way to pass
// arguments.
constexpr std::string_view mistral_like =
    "{%- set ns = namespace(last='assistant') -%}{%- for t in tools or [] -%}<{{ t.function.name }}>{%- "
    "endfor -%}"
    "{%- for m in messages -%}{%- if m.role == 'system' -%}"
    "{%- if not loop.first -%}{{ raise_exception('system first') }}{%- endif -%}[system:{{ m.content }}]"
    "{%- elif m.role == 'user' -%}{%- if ns.last != 'assistant' -%}{{ raise_exception('take turns') }}{%- "
    "endif -%}"
    "{%- set ns.last = 'user' -%}[user:{{ m.content }}]"
    "{%- elif m.role == 'assistant' -%}{%- if ns.last == 'assistant' -%}{{ raise_exception('user first') }}"
    "{%- endif -%}{%- if m.tool_calls -%}{%- for c in m.tool_calls -%}"
    "{%- if c.id is not string or c.id | length != 9 -%}{{ raise_exception('nine letters') }}{%- endif -%}"
    "({{ c.function.name }}{%- for k, v in c.function.arguments | items %} {{ k }}={{ v }}{%- endfor %} {{ "
    "c.id }})"
    "{%- endfor -%}{%- else -%}{%- set ns.last = 'assistant' -%}[assistant:{{ m.content }}]{%- endif -%}"
    "{%- elif m.role == 'tool' -%}{%- if m.tool_call_id is not string or m.tool_call_id | length != 9 -%}"
    "{{ raise_exception('nine letters') }}{%- endif -%}[tool:{{ m.content }} {{ m.tool_call_id }}]{%- endif "
    "-%}"
    "{%- endfor -%}";

Message turn_with(Role role, std::string content) {
    return {.role = role, .content = std::move(content)};
}
Message system_turn(std::string content) {
    return turn_with(Role::system, std::move(content));
}
Message user_turn(std::string content) {
    return turn_with(Role::user, std::move(content));
}
Message assistant_turn(std::string content) {
    return turn_with(Role::assistant, std::move(content));
}
Message call_turn(std::vector<ToolCall> tool_calls, std::string content = {}) {
    return {.role = Role::assistant, .content = std::move(content), .tool_calls = std::move(tool_calls)};
}
Message result_turn(std::string content, std::string id = "abcdefgh1") {
    return {.role = Role::tool, .content = std::move(content), .tool_call_id = std::move(id)};
}

const ToolCall roll = {"abcdefgh1", "roll", R"({"sides": "six"})"};
const ToolCall roll_again = {"abcdefgh2", "roll", R"({"sides": "eight"})"};

std::vector<jinja::Value> die_tools() {
    return test::values_of(R"([{"type": "function", "function": {"name": "roll", "description": "Rolls a die",
        "parameters": {"type": "object", "properties": {"sides": {"type": "string", "description": "words"}}}}}])");
}

Result<AdaptedPrompt> adapt_with(std::string_view chat_template, Messages messages,
                                 std::vector<jinja::Value> tools = {}) {
    const auto parsed = ChatTemplate::create(chat_template, {"<s>", "</s>"});
    REQUIRE(parsed.has_value());
    return render_adapted(*parsed, {.messages = std::move(messages), .tools = std::move(tools)}, 0);
}

std::string prompt_with(std::string_view chat_template, Messages messages,
                        std::vector<jinja::Value> tools = {}) {
    const auto adapted = adapt_with(chat_template, std::move(messages), std::move(tools));
    INFO((adapted ? std::string() : adapted.error().message));
    REQUIRE(adapted.has_value());
    return adapted->text;
}

std::string request_prompt(std::string_view chat_template, const std::string& messages) {
    const auto parsed = ChatTemplate::create(chat_template, {"<s>", "</s>"});
    REQUIRE(parsed.has_value());
    auto conversation = read_conversation(parse_request(R"({"messages": [)" + messages + "]}").value());
    INFO((conversation ? std::string() : conversation.error().message));
    REQUIRE(conversation.has_value());
    conversation->tools = die_tools();
    const auto adapted = render_adapted(*parsed, *conversation, 0);
    INFO((adapted ? std::string() : adapted.error().message));
    REQUIRE(adapted.has_value());
    return adapted->text;
}

} // namespace

TEST_CASE("a system message that is not the first is in the prompt of a template that drops it") {
    CHECK(prompt_with(drops_late_systems, {system_turn("S"), system_turn("T"), user_turn("A")}) ==
          "[system:S\n\nT][user:A]");
    CHECK(prompt_with(drops_late_systems, {system_turn("S"), user_turn("A"), assistant_turn("B"),
                                           system_turn("T"), user_turn("C")}) ==
          "[system:S][user:A][assistant:B][user:T\n\nC]");
    CHECK(prompt_with(drops_late_systems, {user_turn("A"), system_turn("T")}) == "[user:A\n\nT]");
    CHECK(prompt_with(drops_late_systems, {user_turn("A"), assistant_turn("B"), system_turn("T")}) ==
          "[user:A][assistant:B][user:T]");
    CHECK(prompt_with(drops_late_systems,
                      {user_turn("A"), call_turn({roll}), system_turn("T"), result_turn("4")},
                      die_tools()) == "<roll>[user:A][assistant:(roll {\"sides\": \"six\"})][tool:4\n\nT]");
}

TEST_CASE("a short message that occurs elsewhere in the prompt is not lost") {
    CHECK(prompt_with(drops_late_systems, {user_turn("A b"), assistant_turn("B"), system_turn("b"),
                                           user_turn("C")}) == "[user:A b][assistant:B][user:b\n\nC]");
}

TEST_CASE("a note stays where it stands, so that the next prompt continues the earlier one") {
    for (const std::string_view chat_template :
         {drops_late_systems, refuses_late_systems, collects_systems}) {
        Messages conversation = {system_turn("S"), user_turn("A")};
        std::string before = prompt_with(chat_template, conversation);
        for (const char* turn : {"B", "C", "D"}) {
            conversation.push_back(assistant_turn("answer"));
            conversation.push_back(system_turn(std::string("note ") + turn));
            conversation.push_back(user_turn(turn));
            const std::string next = prompt_with(chat_template, conversation);
            CHECK(next.starts_with(before));
            CHECK(next.ends_with(std::string("[user:note ") + turn + "\n\n" + turn + "]"));
            before = next;
        }
    }
}

TEST_CASE("a note after each result stays in the result's turn") {
    Messages conversation = {user_turn("A")};
    std::string before = prompt_with(drops_late_systems, conversation, die_tools());
    for (const char* turn : {"1", "2", "3"}) {
        conversation.push_back(call_turn({roll}));
        conversation.push_back(result_turn(turn));
        conversation.push_back(system_turn("note"));
        const std::string next = prompt_with(drops_late_systems, conversation, die_tools());
        CHECK(next.starts_with(before));
        CHECK(next.ends_with(std::string("[tool:") + turn + "\n\nnote]"));
        before = next;
    }
}

TEST_CASE("fallbacks compose, and the ones that change least win") {
    const auto both =
        adapt_with(mistral_like, {system_turn("S"), user_turn("A"), system_turn("T"), user_turn("B")});
    REQUIRE(both.has_value());
    CHECK(both->text == "[system:S][user:A\n\nT\n\nB]");
    CHECK(both->notes.size() == 2);
    CHECK(prompt_with(mistral_like, {user_turn("A"), system_turn("T"), user_turn("B")}) ==
          "[user:A\n\nT\n\nB]");
    CHECK(prompt_with(mistral_like, {user_turn("A"), call_turn({roll}), result_turn("4"), system_turn("T")},
                      die_tools()) == "<roll>[user:A](roll sides=six abcdefgh1)[tool:4\n\nT abcdefgh1]");
    const auto one = adapt_with(mistral_like, {user_turn("A"), user_turn("B")});
    REQUIRE(one.has_value());
    CHECK(one->notes.size() == 1);
}

TEST_CASE("text beside a call is in the prompt of a template that drops it, if a message of its own is") {
    constexpr std::string_view drops_text =
        "{%- for m in messages -%}{%- if m.tool_calls -%}{%- for c in m.tool_calls -%}"
        "({{ c.function.name }} {{ c.function.arguments | tojson }}){%- endfor -%}{%- else -%}"
        "[{{ m.role }}:{{ m.content }}]{%- endif -%}{%- endfor -%}{{ tools | tojson if tools else '' }}";
    const std::string whole = prompt_with(
        drops_text, {user_turn("A"), call_turn({roll}, "I roll."), result_turn("4")}, die_tools());
    CHECK(whole.starts_with("[user:A][assistant:I roll.](roll {\"sides\": \"six\"})[tool:4]"));
    const std::string strict = std::string(mistral_like);
    const auto unrepaired =
        adapt_with(strict, {user_turn("A"), call_turn({roll}, "I roll."), result_turn("4")}, die_tools());
    REQUIRE(unrepaired.has_value());
    CHECK(unrepaired->text == "<roll>[user:A](roll sides=six abcdefgh1)[tool:4 abcdefgh1]");
    CHECK(unrepaired->dropped == std::vector<std::string>{"text beside tool calls"});
}

TEST_CASE("the second of two calls is in the prompt of a template that renders only the first") {
    constexpr std::string_view first_only =
        "{%- for m in messages -%}{%- if m.tool_calls -%}({{ m.tool_calls[0].function.arguments | tojson }})"
        "{%- else -%}[{{ m.role }}:{{ m.content }}]{%- endif -%}{%- endfor -%}{{ tools | tojson if tools "
        "else '' }}";
    CHECK(prompt_with(first_only,
                      {user_turn("A"), call_turn({roll, roll_again}), result_turn("4"),
                       result_turn("5", "abcdefgh2")},
                      die_tools())
              .starts_with("[user:A]({\"sides\": \"six\"})[tool:4]({\"sides\": \"eight\"})[tool:5]"));
}

TEST_CASE("arguments that are not an object are in the prompt as the model wrote them") {
    const auto with = [](const std::string& arguments) {
        return prompt_with(
            mistral_like, {user_turn("A"), call_turn({{"abcdefgh1", "roll", arguments}}), result_turn("bad")},
            die_tools());
    };
    CHECK(with(R"({"sides": "si)") ==
          "<roll>[user:A](roll arguments={\"sides\": \"si abcdefgh1)[tool:bad abcdefgh1]");
    CHECK(with("six") == "<roll>[user:A](roll arguments=six abcdefgh1)[tool:bad abcdefgh1]");
    CHECK(with("[6]") == "<roll>[user:A](roll arguments=[6] abcdefgh1)[tool:bad abcdefgh1]");
    for (const char* empty : {"", " \n", "null", "{}"})
        CHECK(with(empty) == "<roll>[user:A](roll abcdefgh1)[tool:bad abcdefgh1]");
    constexpr std::string_view takes_text =
        "{%- for m in messages -%}[{{ m.content }}{%- for c in m.tool_calls or [] -%}({{ "
        "c.function.arguments }})"
        "{%- endfor -%}]{%- endfor -%}{{ tools | tojson if tools else '' }}";
    CHECK(prompt_with(takes_text,
                      {user_turn("A"), call_turn({{"abcdefgh1", "roll", "{\"sides"}}), result_turn("bad")},
                      die_tools())
              .starts_with("[A][({\"sides)][bad]"));
}

TEST_CASE("calls and results without ids get matching ones") {
    for (const char* id : {R"("id": null, )", R"("id": "", )", ""}) {
        CAPTURE(id);
        const std::string call =
            std::string("{") + id +
            R"("type": "function", "function": {"name": "roll", "arguments": "{\"sides\":1}"}})";
        const std::string tool_id =
            std::string(id).empty() ? "" : R"("tool_call_id")" + std::string(id).substr(4);
        const std::string two = R"({"role": "user", "content": "A"}, {"role": "assistant", "content": null,
            "tool_calls": [)" + call +
                                "," + call + R"(]}, {"role": "tool", )" + tool_id +
                                R"("content": "4"}, {"role": "tool", )" + tool_id + R"("content": "5"})";
        CHECK(request_prompt(mistral_like, two) == "<roll>[user:A](roll sides=1 call00001)(roll sides=1 "
                                                   "call00002)[tool:4 call00001][tool:5 call00002]");
    }
}

TEST_CASE("calls of one message with the same id get different ones, and so do their results") {
    const std::string call =
        R"({"id": "abcdefgh1", "type": "function", "function": {"name": "roll", "arguments": "{\"sides\":1}"}})";
    const std::string result = R"({"role": "tool", "tool_call_id": "abcdefgh1", "content": )";
    CHECK(
        request_prompt(mistral_like,
                       R"({"role": "user", "content": "A"}, {"role": "assistant", "tool_calls": [)" + call +
                           "," + call + "]}," + result + R"("4"}, )" + result + R"("5"})") ==
        "<roll>[user:A](roll sides=1 abcdefgh1)(roll sides=1 call00002)[tool:4 abcdefgh1][tool:5 call00002]");
}

TEST_CASE("a result without an id answers the first open call of its name") {
    const std::string request = R"({"role": "user", "content": "A"}, {"role": "assistant", "tool_calls": [
        {"id": "abcdefgh1", "function": {"name": "roll", "arguments": "{}"}},
        {"id": "abcdefgh2", "function": {"name": "flip", "arguments": "{}"}}]},
        {"role": "tool", "name": "flip", "content": "tails"}, {"role": "tool", "content": "4"})";
    CHECK(request_prompt(mistral_like, request).ends_with("[tool:tails abcdefgh2][tool:4 abcdefgh1]"));
}

TEST_CASE("a conversation that begins with the assistant, or has no user, is rendered whole") {
    CHECK(prompt_with(mistral_like, {assistant_turn("Hello"), user_turn("A")}) ==
          "[user:(no message)][assistant:Hello][user:A]");
    CHECK(prompt_with(mistral_like, {system_turn("S"), assistant_turn("Hello"), user_turn("A")}) ==
          "[system:S][user:(no message)][assistant:Hello][user:A]");
    CHECK(prompt_with(mistral_like, {system_turn("S"), assistant_turn("Hello")}) ==
          "[system:S][user:(no message)][assistant:Hello]");
}

TEST_CASE("an assistant's parts are its reasoning and its text") {
    constexpr std::string_view thinks =
        "{%- for m in messages -%}[{{ m.reasoning_content or '' }}|{{ m.content }}]"
        "{%- endfor -%}";
    for (const char* part : {R"({"type": "thinking", "thinking": "T"})",
                             R"({"type": "thinking", "thinking": [{"type": "text", "text": "T"}]})",
                             R"({"type": "reasoning", "text": "T"})"}) {
        CAPTURE(part);
        const std::string request =
            R"({"role": "user", "content": "A"}, {"role": "assistant", "content": [)" + std::string(part) +
            R"(, {"type": "text", "text": "B"}, {"type": "text", "text": "C"}]})";
        CHECK(request_prompt(std::string(thinks) + "{{ tools | tojson if tools else '' }}", request)
                  .starts_with("[|A][T|B\nC]"));
    }
    const auto of_user = read_conversation(
        parse_request(
            R"({"messages": [{"role": "user", "content": [{"type": "thinking", "thinking": "T"}]}]})")
            .value());
    CHECK(!of_user.has_value());
}

TEST_CASE("reasoning is a part of the content if the template expects it there") {
    constexpr std::string_view wants_parts = "{%- for m in messages -%}[{%- if m.content is string -%}{{ "
                                             "m.content }}{%- else -%}{%- for b in m.content -%}"
                                             "{{ '(' + b.thinking + ')' if b.type == 'thinking' else b.text "
                                             "}}{%- endfor -%}{%- endif -%}]{%- endfor -%}";
    const Message thought = {.role = Role::assistant, .content = "B", .reasoning = "T"};
    CHECK(prompt_with(wants_parts, {user_turn("A"), thought}) == "[A][(T)B]");
}

TEST_CASE("a part that no fallback repairs is refused by its place") {
    constexpr std::string_view only_last = "{{ messages[-1].content }}";
    const auto lost = adapt_with(only_last, {user_turn("A"), assistant_turn("B"), user_turn("C")});
    REQUIRE(!lost.has_value());
    CHECK(lost.error().kind == ErrorKind::invalid_argument);
    CHECK(lost.error().message == "the chat template does not render messages[0], of the role user");
}

TEST_CASE("a call without a function or a name is refused by its place") {
    for (const char* call : {R"({"id": "x"})", R"({"id": "x", "function": {"arguments": "{}"}})",
                             R"({"id": "x", "function": {"name": "", "arguments": "{}"}})"}) {
        const auto read = read_conversation(
            parse_request(
                R"({"messages": [{"role": "user", "content": "A"}, {"role": "assistant", "tool_calls": [)" +
                std::string(call) + "]}]}")
                .value());
        REQUIRE(!read.has_value());
        CHECK(read.error().message.find("messages[1].tool_calls[0]") == 0);
    }
}

namespace {

std::string template_text(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct Shape {
    const char* name;
    Messages messages;
    bool has_tools = false;
};

std::vector<Shape> shapes() {
    return {
        {"two systems", {system_turn("WA"), system_turn("WB"), user_turn("WC")}},
        {"two systems and tools", {system_turn("WA"), system_turn("WB"), user_turn("WC")}, true},
        {"a system between turns",
         {system_turn("WA"), user_turn("WB"), assistant_turn("WC"), system_turn("WD"), user_turn("WE")}},
        {"a system after a user", {system_turn("WA"), user_turn("WB"), system_turn("WC"), user_turn("WD")}},
        {"a system at the end", {user_turn("WA"), assistant_turn("WB"), system_turn("WC")}},
        {"a system after a result",
         {user_turn("WA"), call_turn({roll}), result_turn("WB"), system_turn("WC")},
         true},
        {"a system before a result",
         {user_turn("WA"), call_turn({roll}), system_turn("WB"), result_turn("WC")},
         true},
        {"two calls",
         {user_turn("WA"), call_turn({roll, roll_again}), result_turn("WB"), result_turn("WC", "abcdefgh2")},
         true},
        {"an assistant first", {assistant_turn("WA"), user_turn("WB")}},
        {"only a system", {system_turn("WA")}},
        {"only an assistant", {assistant_turn("WA")}},
        {"two users", {user_turn("WA"), user_turn("WB")}},
        {"cut arguments",
         {user_turn("WA"), call_turn({{"abcdefgh1", "roll", "{\"sides\": \"WB"}}), result_turn("WC")},
         true},
        {"listed arguments",
         {user_turn("WA"), call_turn({{"abcdefgh1", "roll", "[\"WB\"]"}}), result_turn("WC")},
         true},
        {"empty arguments",
         {user_turn("WA"), call_turn({{"abcdefgh1", "roll", ""}}), result_turn("WB")},
         true},
        {"text beside a call", {user_turn("WA"), call_turn({roll}, "WB"), result_turn("WC")}, true},
    };
}

} // namespace

TEST_CASE("no template of the corpus loses a part of a message") {
    const char* data = std::getenv("ETNA_REFERENCE_DATA");
    if (data == nullptr) {
        std::cout << "not run: lost parts in 84 chat templates (ETNA_REFERENCE_DATA is not set)\n";
        return;
    }
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(data) / "templates")) {
        if (entry.path().extension() != ".jinja")
            continue;
        const std::string name = entry.path().stem().string();
        CAPTURE(name);
        const auto parsed = ChatTemplate::create(template_text(entry.path()), {"<s>", "</s>"});
        REQUIRE(parsed.has_value());
        if (!render_adapted(*parsed, {.messages = {user_turn("A"), assistant_turn("B"), user_turn("C")}}, 0))
            continue; // refuses any conversation
        ++count;
        for (const Shape& shape : shapes()) {
            CAPTURE(shape.name);
            const auto adapted =
                render_adapted(*parsed,
                               {.messages = shape.messages,
                                .tools = shape.has_tools ? die_tools() : decltype(die_tools())()},
                               0);
            INFO((adapted ? std::string() : adapted.error().message));
            REQUIRE(adapted.has_value());
            for (const char* word : {"WA", "WB", "WC", "WD", "WE"}) {
                bool has_word = false;
                for (const Message& message : shape.messages) {
                    has_word = has_word || message.content.find(word) != std::string::npos ||
                               (!message.tool_calls.empty() &&
                                message.tool_calls[0].arguments.find(word) != std::string::npos);
                }
                CAPTURE(word);
                CHECK((!has_word || adapted->text.find(word) != std::string::npos));
            }
        }
    }
    std::cout << "chat templates without lost parts: " << count << "\n";
    CHECK(count == 82);
}

TEST_CASE("the report of a template lists the conversations that it does not render whole") {
    const auto parsed = ChatTemplate::create(drops_late_systems, {"<s>", "</s>"});
    REQUIRE(parsed.has_value());
    std::vector<std::string> kinds;
    for (const ConversationReport& report : report_template(*parsed)) {
        CHECK(report.refusal.empty());
        kinds.push_back(report.conversation);
    }
    CHECK(kinds == std::vector<std::string>{"two system messages", "a system message between turns",
                                            "a system message at the end", "reasoning",
                                            "a system message after a result"});
    const auto whole = ChatTemplate::create(
        "{{ tools | tojson if tools else '' }}{% for m in messages %}[{{ m.role }}|{{ m.reasoning_content or "
        "'' }}|"
        "{{ m.content }}|{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}]"
        "{% endfor %}",
        {"<s>", "</s>"});
    REQUIRE(whole.has_value());
    CHECK(report_template(*whole).empty());
}

TEST_CASE("text beside a call is named as dropped rather than all calls converted to text") {
    Messages conversation = {user_turn("A")};
    for (int turn = 0; turn < 3; ++turn) {
        conversation.push_back(call_turn({roll}, "I roll."));
        conversation.push_back(result_turn("4"));
    }
    conversation.insert(conversation.begin(), system_turn("S"));
    conversation.push_back(system_turn("T"));
    const auto adapted = adapt_with(mistral_like, conversation, die_tools());
    REQUIRE(adapted.has_value());
    CHECK(adapted->text.starts_with("<roll>[system:S][user:A](roll sides=six abcdefgh1)[tool:4 abcdefgh1]"));
    CHECK(adapted->text.ends_with("[tool:4\n\nT abcdefgh1]"));
    CHECK(adapted->dropped == std::vector<std::string>{"text beside tool calls"});
    CHECK_FALSE(adapted->tools_in_text);
}

TEST_CASE("reasoning of the last turn is named if the template never renders it, and that of earlier turns "
          "is not") {
    constexpr std::string_view plain = "{%- for m in messages -%}[{{ m.content }}]{%- endfor -%}";
    const Message thought = {.role = Role::assistant, .content = "B", .reasoning = "T"};
    CHECK(adapt_with(plain, {user_turn("A"), thought, user_turn("C")})->dropped.empty());
    CHECK(adapt_with(plain, {user_turn("A"), thought})->dropped ==
          std::vector<std::string>{"reasoning_content"});
}

TEST_CASE("split calls have the reasoning once, and merged messages that of both") {
    constexpr std::string_view thinks =
        "{%- for m in messages -%}{%- if m.tool_calls and m.tool_calls | length > 1 -%}"
        "{{ raise_exception('one call') }}{%- endif -%}{%- if loop.previtem is defined and "
        "loop.previtem.role == m.role -%}{{ raise_exception('take turns') }}{%- endif -%}"
        "[{{ m.reasoning_content or '' }}|{{ m.content }}{%- for c in m.tool_calls or [] -%}"
        "{{ c.function.arguments | tojson }}{%- endfor -%}]{%- endfor -%}{{ tools | tojson if tools else '' "
        "}}";
    Message both = call_turn({roll, roll_again});
    both.reasoning = "T";
    CHECK(prompt_with(thinks, {user_turn("A"), both, result_turn("4"), result_turn("5", "abcdefgh2")},
                      die_tools())
              .starts_with("[|A][T|{\"sides\": \"six\"}][|4][|{\"sides\": \"eight\"}][|5]"));
    const Message first = {.role = Role::assistant, .content = "B", .reasoning = "T"};
    const Message second = {.role = Role::assistant, .content = "C", .reasoning = "U"};
    CHECK(prompt_with(thinks, {user_turn("A"), first, second}) == "[|A][T\n\nU|B\n\nC]");
}

TEST_CASE("a refusal of the assistant is its content if it has no other") {
    constexpr std::string_view plain = "{%- for m in messages -%}[{{ m.content }}]{%- endfor -%}";
    CHECK(request_prompt(std::string(plain) + "{{ tools | tojson if tools else '' }}",
                         R"({"role": "user", "content": "A"}, {"role": "assistant", "content": null,
                             "refusal": "I cannot."})")
              .starts_with("[A][I cannot.]"));
}
