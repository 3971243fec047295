#include "core/chat/adapt.hpp"
#include "core/chat/chat_template.hpp"
#include "core/chat/conversation.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::chat;

namespace {

// Writes every message as [role:content], and what else it has.
constexpr std::string_view plain = "{% for m in messages %}[{{ m.role }}:{{ m.content }}]{% endfor %}";
constexpr std::string_view strict =
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system here') }}{% endif %}"
    "{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('take turns') }}{% endif %}"
    "[{{ m.role }}:{{ m.content }}]{% endfor %}";
constexpr std::string_view with_calls =
    "{% for t in tools or [] %}<{{ t.function.name }}>{% endfor %}{% for m in messages %}"
    "[{{ m.role }}:{{ m.content }}{% for c in m.tool_calls or [] %}({{ c.id }} {{ c.function.name }} "
    "{{ c.function.arguments | tojson }}){% endfor %}]{% endfor %}";

ChatTemplate made(std::string_view text) {
    auto chat_template = ChatTemplate::create(text, {"<s>", "</s>"});
    INFO((chat_template ? std::string() : chat_template.error().message));
    REQUIRE(chat_template.has_value());
    return std::move(chat_template).value();
}

AdaptedPrompt adapted(std::string_view text, const std::string& request) {
    auto prompt = render_adapted(made(text), request, 0);
    INFO((prompt ? std::string() : prompt.error().message));
    REQUIRE(prompt.has_value());
    return std::move(prompt).value();
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

TEST_CASE("what a template writes reaches it untouched, and nothing is said") {
    const auto prompt = adapted(
        plain, messages(message("system", "S") + "," + message("user", "A") + "," + message("user", "B")));
    CHECK(prompt.text == "[system:S][user:A][user:B]");
    CHECK(prompt.notes.empty());
}

TEST_CASE("a system message goes into the user's first turn where the template refuses or drops it") {
    const std::string request = messages(message("system", "S") + "," + message("user", "A"));
    for (const std::string_view text :
         {strict,
          std::string_view(
              "{% for m in messages if m.role != 'system' %}[{{ m.role }}:{{ m.content }}]{% endfor %}")}) {
        const auto prompt = adapted(text, request);
        CHECK(prompt.text == "[user:S\n\nA]");
        REQUIRE(prompt.notes.size() == 1);
        CHECK(prompt.notes[0].find("system message") != std::string::npos);
    }
    CHECK(adapted(strict, messages(message("system", "S"))).text == "[user:S]");
}

TEST_CASE("neighbours of one role are joined only where the template wants turns to alternate") {
    const auto prompt = adapted(strict, messages(message("user", "A") + "," + message("user", "B") + "," +
                                                 message("assistant", "C") + "," + message("user", "D")));
    CHECK(prompt.text == "[user:A\n\nB][assistant:C][user:D]");
    CHECK(prompt.notes.size() == 1);
}

TEST_CASE("a refusal that nothing helps is told in the template's own words") {
    const auto prompt =
        render_adapted(made("{% if messages | length > 0 %}{{ raise_exception('closed today') }}{% endif %}"),
                       messages(message("user", "A")), 0);
    REQUIRE(!prompt.has_value());
    CHECK(prompt.error().kind == ErrorKind::invalid_argument);
    CHECK(prompt.error().message == "closed today");
}

TEST_CASE("a failing template tells its line and column") {
    const auto prompt =
        made("line\n{{ messages[0].nothing.more }}").render(messages(message("user", "A")), 0);
    REQUIRE(!prompt.has_value());
    CHECK(prompt.error().message.find("line 2, column") != std::string::npos);
}

TEST_CASE("content comes as the template wants it") {
    const std::string parts = messages(
        R"({"role": "user", "content": [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]})");
    CHECK(adapted(plain, parts).text == "[user:A\nB]");
    constexpr std::string_view wants_parts =
        "{% for m in messages %}[{% for p in m.content %}{{ p.text }}{% endfor %}]{% endfor %}";
    CHECK(made(wants_parts).habits().content == ContentForm::parts);
    CHECK(adapted(wants_parts, messages(message("user", "A"))).text == "[A]");
    CHECK(adapted(plain, messages(R"({"role": "assistant", "content": null})")).text == "[assistant:]");
    const auto image = render_adapted(
        made(plain), messages(R"({"role": "user", "content": [{"type": "image_url", "image_url": {}}]})"), 0);
    REQUIRE(!image.has_value());
    CHECK(image.error().message.find("image_url") != std::string::npos);
}

TEST_CASE("arguments come as the template wants them") {
    const auto request = [](const std::string& arguments) {
        return R"({"messages": [{"role": "user", "content": "A"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "x", "type": "function",
             "function": {"name": "roll", "arguments": )" +
               arguments + R"(}}]}, {"role": "tool", "tool_call_id": "x", "content": "4"}], )" + one_tool +
               "}";
    };
    CHECK(made(with_calls).habits().arguments == ArgumentsForm::object);
    const std::string expected = "<roll>[user:A][assistant:(x roll {\"sides\": 6})][tool:4]";
    CHECK(adapted(with_calls, request(R"({"sides": 6})")).text == expected);
    CHECK(adapted(with_calls, request(R"("{\"sides\": 6}")")).text == expected);

    std::string wants_text(with_calls);
    wants_text.replace(wants_text.find(" | tojson"), 9, "");
    CHECK(made(wants_text).habits().arguments == ArgumentsForm::text);
    CHECK(adapted(wants_text, request(R"({"sides": 6})")).text ==
          "<roll>[user:A][assistant:(x roll {\"sides\":6})][tool:4]");
}

TEST_CASE("tools are told in words where the template knows none") {
    const Conversation conversation = {
        .messages = {{.role = Role::user, .content = "A"},
                     {.role = Role::assistant,
                      .content = "B",
                      .tool_calls = {{"x", "roll", R"({"sides": 6})"}}},
                     {.role = Role::tool, .content = "4", .tool_call_id = "x"}},
        .tools = R"([{"type": "function", "function": {"name": "roll"}}])"};
    const auto prompt = adapted(plain, request_json(conversation));
    CHECK(prompt.tools_in_text);
    CHECK(prompt.notes.size() == 1);
    CHECK(prompt.text.starts_with("[system:"));
    CHECK(prompt.text.find(R"({"type":"function","function":{"name":"roll"}})") != std::string::npos);
    CHECK(prompt.text.ends_with(
        "[user:A][assistant:B\n<tool_call>\n{\"name\":\"roll\",\"arguments\":{\"sides\":"
        "6}}\n</tool_call>][user:<tool_response>\n4\n</tool_response>]"));
    CHECK_FALSE(adapted(with_calls, request_json(conversation)).tools_in_text);
}

TEST_CASE("remedies for templates that want one call at a time, or ids of nine letters") {
    const std::string two_calls = R"({"messages": [{"role": "user", "content": "A"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "call_one", "type": "function", "function": {"name": "roll", "arguments": {}}},
            {"id": "call_two", "type": "function", "function": {"name": "roll", "arguments": {}}}]},
        {"role": "tool", "tool_call_id": "call_two", "content": "2"},
        {"role": "tool", "tool_call_id": "call_one", "content": "1"}], )" +
                                  one_tool + "}";
    const std::string single = "{% for m in messages if m.tool_calls and m.tool_calls | length > 1 %}"
                               "{{ raise_exception('one at a time') }}{% endfor %}" +
                               std::string(with_calls);
    CHECK(adapted(single, two_calls).text == "<roll>[user:A][assistant:(call_one roll {})][tool:1]"
                                             "[assistant:(call_two roll {})][tool:2]");
    const std::string nine = "{% for m in messages %}{% for c in m.tool_calls or [] if c.id | length != 9 %}"
                             "{{ raise_exception('nine letters') }}{% endfor %}{% endfor %}" +
                             std::string(with_calls);
    const auto prompt = adapted(nine, two_calls);
    CHECK(prompt.text.find("call_one") == std::string::npos);
    CHECK(prompt.notes.size() == 1);
}

TEST_CASE("a template's switch for thinking is found and used") {
    constexpr std::string_view switchable = "{% if enable_thinking is defined and not enable_thinking "
                                            "%}(quiet){% endif %}{{ messages[0].content }}";
    const ChatTemplate chat_template = made(switchable);
    CHECK(chat_template.habits().can_think);
    CHECK_FALSE(made(plain).habits().can_think);
    CHECK_FALSE(chat_template.habits().is_thoughtless_unasked);
    CHECK_FALSE(made(plain).habits().is_thoughtless_unasked);
    constexpr std::string_view asked = "{% if enable_thinking is defined and enable_thinking %}(think)"
                                       "{% endif %}{{ messages[0].content }}";
    CHECK((made(asked).habits().can_think && made(asked).habits().is_thoughtless_unasked));
    const auto prompt = [&](Thinking thinking) {
        const Conversation conversation = {.messages = {{.role = Role::user, .content = "A"}},
                                           .thinking = thinking};
        return render_adapted(chat_template, request_json(conversation), 0).value().text;
    };
    CHECK(prompt(Thinking::off) == "(quiet)A");
    CHECK(prompt(Thinking::on) == "A");
    CHECK(prompt(Thinking::as_template_says) == "A");
}

TEST_CASE("reasoning goes where the template looks for it") {
    constexpr std::string_view names_thinking = "{% for m in messages %}[{% if m.thinking %}({{ m.thinking "
                                                "}}){% endif %}{{ m.content }}]{% endfor %}";
    const Conversation conversation = {
        .messages = {{.role = Role::user, .content = "A"},
                     {.role = Role::assistant, .content = "B", .reasoning = "because"}}};
    CHECK(adapted(names_thinking, request_json(conversation)).text == "[A][(because)B]");
}

TEST_CASE("requests that are none are refused with an example") {
    const ChatTemplate chat_template = made(plain);
    const std::string deep =
        R"({"messages": [], "documents": )" + std::string(500, '[') + std::string(500, ']') + "}";
    for (const std::string& request :
         {std::string(""), std::string("[]"), std::string("{}"), std::string(R"({"messages": {}})"),
          std::string(R"({"messages": [1]})"), std::string(R"({"messages": [{"content": "x"}]})"),
          std::string(R"({"messages": [], "chat_template_kwargs": 1})"), deep}) {
        CAPTURE(request.substr(0, 80));
        const auto prompt = chat_template.render(request, 0);
        REQUIRE(!prompt.has_value());
        CHECK(prompt.error().kind == ErrorKind::invalid_argument);
    }
}

TEST_CASE("variables of the request reach the template, later ones first") {
    constexpr std::string_view shows =
        "{{ bos_token }}|{{ eos_token }}|{{ add_generation_prompt }}|{{ more }}|"
        "{{ strftime_now('%Y-%m-%d') }}|{{ tools is defined }}";
    const ChatTemplate chat_template = made(shows);
    CHECK(chat_template.render(R"({"messages": []})", 86400).value() == "<s>|</s>|True||1970-01-02|False");
    CHECK(chat_template
              .render(R"({"messages": [], "tools": null, "add_generation_prompt": false,
                          "eos_token": "E", "chat_template_kwargs": {"more": "kept"}})",
                      0)
              .value() == "<s>|E|False|kept|1970-01-01|True");
    for (const char* own : {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token"}) {
        const auto replaced = chat_template.render(
            R"({"messages": [], "chat_template_kwargs": {")" + std::string(own) + R"(": []}})", 0);
        REQUIRE(!replaced);
        CHECK(replaced.error().kind == ErrorKind::invalid_argument);
        CHECK(replaced.error().message.find("`chat_template_kwargs." + std::string(own) + "`") == 0);
    }
}

TEST_CASE("a role of the template's own is written by it, and refused where the template leaves it out") {
    const std::string asked =
        R"({"messages": [{"role": "user", "content": "a"}, {"role": "critic", "content": "b"}]})";
    const auto conversation = parse_conversation(asked);
    REQUIRE(conversation);
    CHECK(conversation->messages[1].role == Role::other);
    const std::string again = request_json(*conversation);
    const ChatTemplate any = made("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}");
    CHECK(render_adapted(any, again, 0).value().text == "<user>a<critic>b");
    const ChatTemplate users =
        made("{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}");
    const auto left_out = render_adapted(users, again, 0);
    REQUIRE(!left_out);
    CHECK(left_out.error().kind == ErrorKind::invalid_argument);
    CHECK(left_out.error().message == "the chat template writes no messages of the role `critic`");
}

TEST_CASE("numbers of a request keep all their digits") {
    const ChatTemplate chat_template = made("{{ messages[0].n }} {{ more }}");
    CHECK(chat_template
              .render(R"({"messages": [{"role": "user", "content": "", "n": 123456789012345678901234567890}],
                          "chat_template_kwargs": {"more": -18446744073709551617}})",
                      0)
              .value() == "123456789012345678901234567890 -18446744073709551617");
}
