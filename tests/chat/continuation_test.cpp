// `continue_final_message`: a prompt that ends in the middle of the assistant's last message.
#include "core/chat/adapt.hpp"
#include "core/chat/chat_template.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace etna;
using namespace etna::chat;

namespace {

// Ends every turn with a mark, as most do, and takes white space away as some do.
constexpr std::string_view plain = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
                                   "{% if add_generation_prompt %}<|assistant|>{% endif %}";
constexpr std::string_view trimming =
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content | trim }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}";
constexpr std::string_view thinking =
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|><think>{% endif %}";
constexpr std::string_view forgetful =
    "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}";

ChatTemplate made(std::string_view text) {
    return ChatTemplate::create(text, {"<s>", "</s>"}).value();
}

std::string request(const std::string& last, const std::string& more = "") {
    return R"({"messages": [{"role": "user", "content": "Count."}, )" + last +
           R"(], "continue_final_message": true)" + more + "}";
}

std::string begun(const std::string& content) {
    return R"({"role": "assistant", "content": ")" + content + R"("})";
}

std::string rendered(std::string_view text, const std::string& request) {
    const auto prompt = made(text).render(request, 0);
    return prompt ? prompt.value() : "error: " + prompt.error().message;
}

} // namespace

TEST_CASE("a last message that is gone on with ends the prompt") {
    CHECK(rendered(plain, request(begun("1, 2"))) == "<|user|>Count.<|end|><|assistant|>1, 2");
    // A text that stands in the marks as well is not looked for there.
    CHECK(rendered(plain, request(begun("e"))) == "<|user|>Count.<|end|><|assistant|>e");
    CHECK(rendered(plain, request(begun(""))) == "<|user|>Count.<|end|><|assistant|>");
    CHECK(rendered(plain, request(begun("ETNA-GOES-ON-HERE"))) ==
          "<|user|>Count.<|end|><|assistant|>ETNA-GOES-ON-HERE");
    const std::string parts =
        R"({"role": "assistant", "content": [{"type": "text", "text": "1,"}, {"type": "text", "text": "2"}]})";
    CHECK(render_adapted(made(plain), request(parts), 0).value().text ==
          "<|user|>Count.<|end|><|assistant|>1,\n2");
}

TEST_CASE("white space at the end of what is begun stays where the template keeps it") {
    CHECK(rendered(plain, request(begun("1, "))) == "<|user|>Count.<|end|><|assistant|>1, ");
    CHECK(rendered(trimming, request(begun("1, "))) == "<|user|>Count.<|end|><|assistant|>1,");
}

TEST_CASE("what cannot be gone on with is refused") {
    const auto refused = [](std::string_view text, const std::string& request) {
        const std::string said = rendered(text, request);
        CAPTURE(said);
        CHECK(said.find("error: `continue_final_message`") == 0);
    };
    refused(plain, request(R"({"role": "user", "content": "x"})"));
    refused(plain, request(R"({"role": "assistant", "content": null})"));
    refused(plain, request(begun("1"), R"(, "add_generation_prompt": true)"));
    refused(forgetful, request(begun("1")));
    refused(plain, R"({"messages": [], "continue_final_message": true})");
}

TEST_CASE("what is begun of the answer is told apart from the prompt before it") {
    const auto answer = [](std::string_view text, const std::string& content) {
        const AdaptedPrompt prompt = render_adapted(made(text), request(begun(content)), 0).value();
        return prompt.text.substr(prompt.text.size() - prompt.begun_bytes);
    };
    CHECK(answer(plain, "1, 2") == "1, 2");
    CHECK(answer(thinking, "1, 2") == "1, 2");
    CHECK(answer(thinking, "<tool") == "<tool"); // the mark that the template would have written begins alike
    CHECK(answer(plain, "<think>hm") == "<think>hm");
    CHECK(render_adapted(made(plain), R"({"messages": [{"role": "user", "content": "a"}]})", 0)
              .value()
              .begun_bytes == 0);
}
