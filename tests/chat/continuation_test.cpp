// `continue_final_message`: a prompt that ends inside the last message of the assistant.
#include "core/chat/adapt.hpp"
#include "core/chat/chat_template.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace etna;
using namespace etna::chat;

namespace {

// Ends every turn with a marker, as most templates do.
constexpr std::string_view turns_template =
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}";
constexpr std::string_view trimming_template =
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}";
constexpr std::string_view thinking_template =
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|><think>{% endif %}";
constexpr std::string_view user_template =
    "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}";

ChatTemplate template_of(std::string_view text) {
    return ChatTemplate::create(text, {"<s>", "</s>"}).value();
}

std::string continuation_of(const std::string& last, const std::string& more = "") {
    return R"({"messages": [{"role": "user", "content": "Count."}, )" + last +
           R"(], "continue_final_message": true)" + more + "}";
}

std::string assistant(const std::string& content) {
    return R"({"role": "assistant", "content": ")" + content + R"("})";
}

Result<AdaptedPrompt> adapted_of(std::string_view text, const std::string& request) {
    ETNA_TRY(const auto conversation, read_conversation(parse_request(request).value()));
    return render_adapted(template_of(text), conversation, 0);
}

std::string continued_prompt(std::string_view text, const std::string& request) {
    const auto prompt = template_of(text).render(parse_request(request).value(), 0);
    return prompt ? prompt->text : "error: " + prompt.error().message;
}

} // namespace

TEST_CASE("the prompt ends with the text of a continued last message") {
    CHECK(continued_prompt(turns_template, continuation_of(assistant("1, 2"))) ==
          "<|user|>Count.<|end|><|assistant|>1, 2");
    // The text also occurs in the markers, which must not be cut.
    CHECK(continued_prompt(turns_template, continuation_of(assistant("e"))) ==
          "<|user|>Count.<|end|><|assistant|>e");
    CHECK(continued_prompt(turns_template, continuation_of(assistant(""))) ==
          "<|user|>Count.<|end|><|assistant|>");
    CHECK(continued_prompt(turns_template, continuation_of(assistant("ETNA-CONTINUES-HERE"))) ==
          "<|user|>Count.<|end|><|assistant|>ETNA-CONTINUES-HERE");
    const std::string parts =
        R"({"role": "assistant", "content": [{"type": "text", "text": "1,"}, {"type": "text", "text": "2"}]})";
    CHECK(adapted_of(turns_template, continuation_of(parts)).value().text ==
          "<|user|>Count.<|end|><|assistant|>1,\n2");
}

TEST_CASE("white space at the end of a continued message is removed only if the template trims it") {
    CHECK(continued_prompt(turns_template, continuation_of(assistant("1, "))) ==
          "<|user|>Count.<|end|><|assistant|>1, ");
    CHECK(continued_prompt(trimming_template, continuation_of(assistant("1, "))) ==
          "<|user|>Count.<|end|><|assistant|>1,");
}

TEST_CASE("a last message that cannot be continued is refused") {
    const auto refused = [](std::string_view text, const std::string& request) {
        const std::string result = continued_prompt(text, request);
        CAPTURE(result);
        CHECK(result.find("error: `continue_final_message`") == 0);
    };
    refused(turns_template, continuation_of(R"({"role": "user", "content": "x"})"));
    refused(turns_template, continuation_of(R"({"role": "assistant", "content": null})"));
    refused(turns_template, continuation_of(assistant("1"), R"(, "add_generation_prompt": true)"));
    refused(user_template, continuation_of(assistant("1")));
    refused(turns_template, R"({"messages": [], "continue_final_message": true})");
}

TEST_CASE("prefilled_bytes is the length of the continued message") {
    const auto answer = [](std::string_view text, const std::string& content) {
        const AdaptedPrompt prompt = adapted_of(text, continuation_of(assistant(content))).value();
        return prompt.text.substr(prompt.text.size() - prompt.prefilled_bytes);
    };
    CHECK(answer(turns_template, "1, 2") == "1, 2");
    CHECK(answer(thinking_template, "1, 2") == "1, 2");
    CHECK(answer(thinking_template, "<tool") ==
          "<tool"); // shares its first byte with the marker that the template would have written
    CHECK(answer(turns_template, "<think>hm") == "<think>hm");
    CHECK(adapted_of(turns_template, R"({"messages": [{"role": "user", "content": "a"}]})")
              .value()
              .prefilled_bytes == 0);
}
