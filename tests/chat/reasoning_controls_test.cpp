#include "core/chat/adapt.hpp"
#include "core/chat/chat_template.hpp"
#include "core/chat/conversation.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <string_view>

using namespace etna;
using namespace etna::chat;

namespace {

// As Qwen3.8: other words are errors.
constexpr std::string_view checks_words =
    "{%- set level = reasoning_effort if reasoning_effort is defined else 'xhigh' -%}"
    "{%- if level not in ['low', 'medium', 'xhigh'] -%}{{ raise_exception('unknown ' ~ level) }}{%- endif -%}"
    "({{ level }}){{ messages[0].content }}";
// As gpt-oss: any word is written into the prompt.
constexpr std::string_view echoes_words =
    "({{ reasoning_effort if reasoning_effort is defined else 'medium' }}){{ messages[0].content }}";
// As Kimi K3: a variable of another name.
constexpr std::string_view other_name =
    "{%- if thinking_effort is defined and thinking_effort not in ['low', 'high', 'max'] -%}"
    "{{ raise_exception('unknown') }}{%- endif -%}({{ thinking_effort or 'max' }}){{ messages[0].content }}";
// As DeepSeek V4: the default is less than both words.
constexpr std::string_view adds_depth = "{{ '(' ~ reasoning_effort ~ ')' if reasoning_effort in ['high', "
                                        "'max'] else '' }}{{ messages[0].content }}";
constexpr std::string_view has_no_control = "{{ messages[0].content }}";

AdaptedPrompt rendered_with(std::string_view chat_template, const std::string& members,
                            Thinking thinking = Thinking::template_default) {
    const auto parsed = ChatTemplate::create(chat_template, {});
    REQUIRE(parsed.has_value());
    auto conversation = read_conversation(
        parse_request(R"({"messages": [{"role": "user", "content": "A"}])" + members + "}").value());
    REQUIRE(conversation.has_value());
    conversation->thinking = thinking;
    auto prompt = render_adapted(*parsed, *conversation, 0);
    INFO((prompt ? std::string() : prompt.error().message));
    REQUIRE(prompt.has_value());
    return std::move(prompt).value();
}

AdaptedPrompt with_effort(std::string_view chat_template, const std::string& word) {
    return rendered_with(chat_template, R"(, "chat_template_kwargs": {"reasoning_effort": ")" + word + "\"}");
}

} // namespace

TEST_CASE("a reasoning effort becomes the nearest word that the template knows") {
    struct Case {
        std::string_view chat_template;
        const char* requested;
        const char* prompt;
    };
    for (const Case& one : {Case{checks_words, "minimal", "(low)A"}, Case{checks_words, "low", "(low)A"},
                            Case{checks_words, "medium", "(medium)A"}, Case{checks_words, "high", "(xhigh)A"},
                            Case{checks_words, "xhigh", "(xhigh)A"}, Case{checks_words, "max", "(xhigh)A"},
                            Case{checks_words, "none", "(low)A"}, Case{echoes_words, "minimal", "(low)A"},
                            Case{echoes_words, "high", "(high)A"}, Case{echoes_words, "xhigh", "(high)A"},
                            Case{echoes_words, "max", "(high)A"}, Case{other_name, "medium", "(high)A"},
                            Case{other_name, "low", "(low)A"}, Case{other_name, "max", "(max)A"},
                            Case{adds_depth, "low", "A"}, Case{adds_depth, "medium", "A"},
                            Case{adds_depth, "high", "(high)A"}, Case{adds_depth, "xhigh", "(max)A"}}) {
        CAPTURE(std::string(one.chat_template), one.requested);
        CHECK(with_effort(one.chat_template, one.requested).text == one.prompt);
        CHECK(
            rendered_with(one.chat_template, R"(, "reasoning_effort": ")" + std::string(one.requested) + "\"")
                .text == one.prompt);
    }
}

TEST_CASE("a changed effort is noted, and one without effect is named") {
    CHECK(with_effort(checks_words, "low").notes.empty());
    REQUIRE(with_effort(checks_words, "high").notes.size() == 1);
    CHECK(with_effort(checks_words, "high").notes[0].find("`xhigh`") != std::string::npos);
    CHECK(with_effort(has_no_control, "high").dropped == std::vector<std::string>{"reasoning_effort"});
    CHECK(with_effort(checks_words, "high").dropped.empty());
}

TEST_CASE("a word outside of OpenAI's scale reaches the template") {
    CHECK(with_effort(echoes_words, "heroic").text == "(heroic)A");
}

TEST_CASE("a template's own variable wins over the effort of the request") {
    CHECK(rendered_with(other_name,
                        R"(, "chat_template_kwargs": {"reasoning_effort": "low", "thinking_effort": "max"})")
              .text == "(max)A");
}

TEST_CASE("thinking is switched by the variable that the template knows") {
    constexpr std::string_view by_mode =
        "{{ messages[0].content }}{{ '(off)' if thinking_mode == 'disabled' else "
        "'(on)' if thinking_mode == 'enabled' else '' }}";
    constexpr std::string_view by_budget =
        "{{ messages[0].content }}{{ '(off)' if thinking_budget == 0 else '' }}";
    constexpr std::string_view by_effort =
        "{{ messages[0].content }}{{ '(off)' if reasoning_effort == 'none' else '' }}";
    CHECK(rendered_with(by_mode, "", Thinking::off).text == "A(off)");
    CHECK(rendered_with(by_mode, "", Thinking::on).text == "A(on)");
    CHECK(rendered_with(by_mode, "").text == "A");
    CHECK(rendered_with(by_budget, "", Thinking::off).text == "A(off)");
    CHECK(rendered_with(by_budget, "", Thinking::on).text == "A");
    CHECK(rendered_with(by_effort, "", Thinking::off).text == "A(off)");
    CHECK(rendered_with(by_mode, R"(, "chat_template_kwargs": {"thinking_mode": "enabled"})", Thinking::off)
              .text == "A(on)"); // an explicit value wins
    CHECK_FALSE(rendered_with(by_mode, "", Thinking::off).ignores_thinking_off);
    CHECK(rendered_with(has_no_control, "", Thinking::off).ignores_thinking_off);
    CHECK_FALSE(rendered_with(has_no_control, "", Thinking::on).ignores_thinking_off);
}

TEST_CASE("an effort of none is absent if a switch turns thinking off") {
    constexpr std::string_view both =
        "{%- if reasoning_effort is defined and reasoning_effort not in ['low', 'high'] -%}"
        "{{ raise_exception('unknown') }}{%- endif -%}({{ reasoning_effort or '' }})"
        "{{ messages[0].content }}{{ '(off)' if enable_thinking is false else '' }}";
    CHECK(rendered_with(both, R"(, "chat_template_kwargs": {"reasoning_effort": "none"})", Thinking::off)
              .text == "()A(off)");
}
