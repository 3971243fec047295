#include "core/chat/adapt.hpp"
#include "core/chat/chat_template.hpp"
#include "core/chat/conversation.hpp"
#include "core/jinja/json.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/values.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::chat;

namespace {

// Renders every message as [role:content].
constexpr std::string_view plain_template =
    "{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}";
constexpr std::string_view alternating_template =
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system here') }}{% endif %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('take turns') }}{% endif %}"
    "[{{ m.role }}:{{ m.content }}]{% endfor %}";
constexpr std::string_view calls_template =
    "{% for t in tools or [] %}<{{ t.function.name }}>{% endfor %}{% for m in messages %}"
    "[{{ m.role }}:{{ m.content }}{% for c in m.tool_calls or [] %}({{ c.id }} {{ c.function.name }} "
    "{{ c.function.arguments | tojson }}){% endfor %}]{% endfor %}";

ChatTemplate parsed(std::string_view text) {
    auto chat_template = ChatTemplate::create(text, {"<s>", "</s>"});
    INFO((chat_template ? std::string() : chat_template.error().message));
    REQUIRE(chat_template.has_value());
    return std::move(chat_template).value();
}

Result<std::string> rendered(const ChatTemplate& chat_template, std::string_view request,
                             int64_t now_unix_s = 0) {
    ETNA_TRY(const jinja::Value value, parse_request(request));
    ETNA_TRY(RenderedPrompt prompt, chat_template.render(value, now_unix_s));
    return std::move(prompt.text);
}

Conversation conversation_of(const std::string& request) {
    return read_conversation(parse_request(request).value()).value();
}

AdaptedPrompt adapted(std::string_view text, const Conversation& conversation) {
    auto prompt = render_adapted(parsed(text), conversation, 0);
    INFO((prompt ? std::string() : prompt.error().message));
    REQUIRE(prompt.has_value());
    return std::move(prompt).value();
}

AdaptedPrompt adapted(std::string_view text, const std::string& request) {
    return adapted(text, conversation_of(request));
}

std::string messages(const std::string& list) {
    return R"({"messages": [)" + list + "]}";
}

std::string message(const std::string& role, const std::string& content) {
    return R"({"role": ")" + role + R"(", "content": ")" + content + R"("})";
}

const std::string one_tool = R"("tools": [{"type": "function", "function": {"name": "roll",
    "description": "Rolls a die", "parameters": {"type": "object", "properties": {}}}}])";

} // namespace

TEST_CASE("a conversation that the template renders in full is not adapted") {
    const auto prompt = adapted(plain_template, messages(message("system", "S") + "," + message("user", "A") +
                                                         "," + message("user", "B")));
    CHECK(prompt.text == "[system:S][user:A][user:B]");
    CHECK(prompt.notes.empty());
}

TEST_CASE("a system message moves into the first user turn if the template refuses or drops it") {
    const std::string request = messages(message("system", "S") + "," + message("user", "A"));
    for (const std::string_view text :
         {alternating_template,
          std::string_view(
              "{% for m in messages if m.role != 'system' %}[{{ m.role }}:{{ m.content }}]{% endfor %}")}) {
        const auto prompt = adapted(text, request);
        CHECK(prompt.text == "[user:S\n\nA]");
        REQUIRE(prompt.notes.size() == 1);
        CHECK(prompt.notes[0].find("system message") != std::string::npos);
    }
    CHECK(adapted(alternating_template, messages(message("system", "S"))).text == "[user:S]");
}

TEST_CASE("adjacent messages of one role are merged only if the template requires alternating roles") {
    const auto prompt =
        adapted(alternating_template, messages(message("user", "A") + "," + message("user", "B") + "," +
                                               message("assistant", "C") + "," + message("user", "D")));
    CHECK(prompt.text == "[user:A\n\nB][assistant:C][user:D]");
    CHECK(prompt.notes.size() == 1);
}

TEST_CASE("a refusal that no fallback resolves returns the template's own message") {
    const auto prompt = render_adapted(
        parsed("{% if messages | length > 0 %}{{ raise_exception('closed today') }}{% endif %}"),
        conversation_of(messages(message("user", "A"))), 0);
    REQUIRE(!prompt.has_value());
    CHECK(prompt.error().kind == ErrorKind::invalid_argument);
    CHECK(prompt.error().message == "closed today");
}

TEST_CASE("the error of a failing template names line and column") {
    const auto prompt =
        rendered(parsed("line\n{{ messages[0].nothing.more }}"), messages(message("user", "A")));
    REQUIRE(!prompt.has_value());
    CHECK(prompt.error().message.find("line 2, column") != std::string::npos);
}

TEST_CASE("content is converted to the form that the template expects") {
    const std::string parts = messages(
        R"({"role": "user", "content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]})");
    CHECK(adapted(plain_template, parts).text == "[user:A\nB]");
    constexpr std::string_view wants_parts =
        "{% for m in messages %}[{% for p in m.content %}{{ p.text }}{% endfor %}]{% endfor %}";
    CHECK(parsed(wants_parts).capabilities().content == ContentForm::parts);
    CHECK(adapted(wants_parts, messages(message("user", "A"))).text == "[A]");
    CHECK(adapted(plain_template, messages(R"({"role": "assistant", "content": null})")).text ==
          "[assistant:]");
    const auto image = read_conversation(
        parse_request(messages(R"({"role": "user", "content": [{"type": "image_url", "image_url": {}}]})"))
            .value());
    REQUIRE(!image.has_value());
    CHECK(image.error().message.find("image_url") != std::string::npos);
}

TEST_CASE("arguments are converted to the form that the template expects") {
    const auto request = [](const std::string& arguments) {
        return R"({"messages": [{"role": "user", "content": "A"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "x", "type": "function",
             "function": {"name": "roll", "arguments": )" +
               arguments + R"(}}]}, {"role": "tool", "tool_call_id": "x", "content": "4"}], )" + one_tool +
               "}";
    };
    CHECK(parsed(calls_template).capabilities().arguments == ArgumentsForm::object);
    const std::string expected = "<roll>[user:A][assistant:(x roll {\"sides\": 6})][tool:4]";
    CHECK(adapted(calls_template, request(R"({"sides": 6})")).text == expected);
    CHECK(adapted(calls_template, request(R"("{\"sides\": 6}")")).text == expected);

    std::string wants_text(calls_template);
    wants_text.replace(wants_text.find(" | tojson"), 9, "");
    CHECK(parsed(wants_text).capabilities().arguments == ArgumentsForm::text);
    CHECK(adapted(wants_text, request(R"({"sides": 6})")).text ==
          "<roll>[user:A][assistant:(x roll {\"sides\":6})][tool:4]");
}

TEST_CASE("tools are described as text if the template does not support them") {
    const Conversation conversation = {
        .messages = {{.role = Role::user, .content = "A"},
                     {.role = Role::assistant,
                      .content = "B",
                      .tool_calls = {{"x", "roll", R"({"sides": 6})"}}},
                     {.role = Role::tool, .content = "4", .tool_call_id = "x"}},
        .tools = test::values_of(R"([{"type": "function", "function": {"name": "roll"}}])")};
    const auto prompt = adapted(plain_template, conversation);
    CHECK(prompt.tools_in_text);
    CHECK(prompt.notes.size() == 1);
    CHECK(prompt.text.starts_with("[system:"));
    CHECK(prompt.text.find(R"({"type":"function","function":{"name":"roll"}})") != std::string::npos);
    CHECK(prompt.text.ends_with(
        "[user:A][assistant:B\n<tool_call>\n{\"name\":\"roll\",\"arguments\":{\"sides\":"
        "6}}\n</tool_call>][user:<tool_response>\n4\n</tool_response>]"));
    CHECK_FALSE(adapted(calls_template, conversation).tools_in_text);
}

TEST_CASE("parallel calls are split and ids shortened if the template requires it") {
    const std::string two_calls = R"({"messages": [{"role": "user", "content": "A"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "call_one", "type": "function", "function": {"name": "roll", "arguments": {}}},
            {"id": "call_two", "type": "function", "function": {"name": "roll", "arguments": {}}}]},
        {"role": "tool", "tool_call_id": "call_two", "content": "2"},
        {"role": "tool", "tool_call_id": "call_one", "content": "1"}], )" +
                                  one_tool + "}";
    const std::string single = "{% for m in messages if m.tool_calls and m.tool_calls | length > 1 %}"
                               "{{ raise_exception('one at a time') }}{% endfor %}" +
                               std::string(calls_template);
    CHECK(adapted(single, two_calls).text == "<roll>[user:A][assistant:(call_one roll {})][tool:1]"
                                             "[assistant:(call_two roll {})][tool:2]");
    const std::string nine = "{% for m in messages %}{% for c in m.tool_calls or [] if c.id | length != 9 %}"
                             "{{ raise_exception('nine letters') }}{% endfor %}{% endfor %}" +
                             std::string(calls_template);
    const auto prompt = adapted(nine, two_calls);
    CHECK(prompt.text.find("call_one") == std::string::npos);
    CHECK(prompt.notes.size() == 1);
}

TEST_CASE("a template's switch for thinking is detected and set") {
    constexpr std::string_view switchable = "{% if enable_thinking is defined and not enable_thinking "
                                            "%}(quiet){% endif %}{{ messages[0].content }}";
    const ChatTemplate chat_template = parsed(switchable);
    CHECK(chat_template.capabilities().can_think);
    CHECK_FALSE(parsed(plain_template).capabilities().can_think);
    CHECK_FALSE(chat_template.capabilities().skips_thinking_by_default);
    CHECK_FALSE(parsed(plain_template).capabilities().skips_thinking_by_default);
    constexpr std::string_view asked = "{% if enable_thinking is defined and enable_thinking %}(think)"
                                       "{% endif %}{{ messages[0].content }}";
    CHECK((parsed(asked).capabilities().can_think && parsed(asked).capabilities().skips_thinking_by_default));
    const auto prompt = [&](Thinking thinking) {
        const Conversation conversation = {.messages = {{.role = Role::user, .content = "A"}},
                                           .thinking = thinking};
        return render_adapted(chat_template, conversation, 0).value().text;
    };
    CHECK(prompt(Thinking::off) == "(quiet)A");
    CHECK(prompt(Thinking::on) == "A");
    CHECK(prompt(Thinking::template_default) == "A");
}

TEST_CASE("reasoning is stored under the key that the template reads") {
    constexpr std::string_view names_thinking = "{% for m in messages %}[{% if m.thinking %}({{ m.thinking "
                                                "}}){% endif %}{{ m.content }}]{% endfor %}";
    const Conversation conversation = {
        .messages = {{.role = Role::user, .content = "A"},
                     {.role = Role::assistant, .content = "B", .reasoning = "because"}}};
    CHECK(adapted(names_thinking, conversation).text == "[A][(because)B]");
}

TEST_CASE("malformed requests are refused") {
    const ChatTemplate chat_template = parsed(plain_template);
    const std::string deep =
        R"({"messages": [], "documents": )" + std::string(500, '[') + std::string(500, ']') + "}";
    for (const std::string& request :
         {std::string(""), std::string("[]"), std::string("{}"), std::string(R"({"messages": {}})"),
          std::string(R"({"messages": [1]})"), std::string(R"({"messages": [{"content": "x"}]})"),
          std::string(R"({"messages": [], "chat_template_kwargs": 1})"), deep}) {
        CAPTURE(request.substr(0, 80));
        const auto prompt = rendered(chat_template, request);
        REQUIRE(!prompt.has_value());
        CHECK(prompt.error().kind == ErrorKind::invalid_argument);
    }
}

TEST_CASE("request variables reach the template, and the last one of a name wins") {
    constexpr std::string_view shows =
        "{{ bos_token }}|{{ eos_token }}|{{ add_generation_prompt }}|{{ more }}|"
        "{{ strftime_now('%Y-%m-%d') }}|{{ tools is defined }}";
    const ChatTemplate chat_template = parsed(shows);
    CHECK(rendered(chat_template, R"({"messages": []})", 86400).value() == "<s>|</s>|True||1970-01-02|False");
    CHECK(rendered(chat_template, R"({"messages": [], "tools": null, "add_generation_prompt": false,
                          "eos_token": "E", "chat_template_kwargs": {"more": "value"}})")
              .value() == "<s>|E|False|value|1970-01-01|True");
    for (const char* own : {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token"}) {
        const auto replaced = rendered(chat_template, R"({"messages": [], "chat_template_kwargs": {")" +
                                                          std::string(own) + R"(": []}})");
        REQUIRE(!replaced);
        CHECK(replaced.error().kind == ErrorKind::invalid_argument);
        CHECK(replaced.error().message.find("`chat_template_kwargs." + std::string(own) + "`") == 0);
    }
}

TEST_CASE("a template-specific role is rendered, and refused if the template drops it") {
    const std::string asked =
        R"({"messages": [{"role": "user", "content": "a"}, {"role": "critic", "content": "b"}]})";
    const Conversation conversation = conversation_of(asked);
    CHECK(conversation.messages[1].role == Role::other);
    const ChatTemplate any = parsed("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}");
    CHECK(render_adapted(any, conversation, 0).value().text == "<user>a<critic>b");
    const ChatTemplate users =
        parsed("{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}");
    const auto left_out = render_adapted(users, conversation, 0);
    REQUIRE(!left_out);
    CHECK(left_out.error().kind == ErrorKind::invalid_argument);
    CHECK(left_out.error().message == "the chat template does not render messages of the role `critic`");
}

TEST_CASE("numbers of a request reach the template with all their digits") {
    const ChatTemplate chat_template = parsed("{{ messages[0].n }} {{ more }}");
    CHECK(rendered(chat_template,
                   R"({"messages": [{"role": "user", "content": "", "n": 123456789012345678901234567890}],
                       "chat_template_kwargs": {"more": -18446744073709551617}})")
              .value() == "123456789012345678901234567890 -18446744073709551617");
}

TEST_CASE("a conversation is equal after a round through a request") {
    const std::string request = R"({"messages": [{"role": "user", "content": "A"},
        {"role": "assistant", "content": "B", "reasoning_content": "R", "tool_calls": [{"id": "x",
         "type": "function", "function": {"name": "roll", "arguments": {"sides": 6}}}]},
        {"role": "tool", "content": "4", "tool_call_id": "x", "name": "roll"}], )" +
                                one_tool + R"(, "documents": [{"text": "T"}], "reasoning_effort": "low"})";
    const jinja::Value again = request_value(conversation_of(request));
    CHECK(jinja::compact_json(again) == jinja::compact_json(parse_request(request).value()));
    CHECK(jinja::compact_json(request_value(read_conversation(again).value())) == jinja::compact_json(again));
}
