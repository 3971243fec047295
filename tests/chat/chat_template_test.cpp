#include "core/chat/chat_template.hpp"
#include "tests/support/catch.hpp"

#include <vector>

using namespace etna;
using namespace etna::chat;

namespace {

// The conversation of the expectations, with <s> and </s> as begin and end tokens. The expected prompts of
// ChatML, Llama 2, Llama 3 and Mistral V1 are what jinja2 makes of the templates in EricLBuehler/mistral.rs
// (MIT); the others follow the formats as their makers publish them.
const Message hello{Role::user, "Hello, how are you?"};
const Message great{Role::assistant, "I'm doing great. How can I help you today?"};
const Message sum{Role::user, "What is 2+2? Answer briefly."};
const Message helpful{Role::system, "You are a helpful assistant."};
const std::vector<Message> plain = {hello, great, sum};
const std::vector<Message> with_system = {helpful, hello, great, sum};

std::string rendered(std::string_view template_text, const std::vector<Message>& messages) {
    const auto result = ChatTemplate::create(template_text).value().render(messages, {"<s>", "</s>"});
    return result ? result.value() : "error: " + result.error().message;
}

} // namespace

TEST_CASE("ChatML writes every turn the same way") {
    REQUIRE(rendered("{{'<|im_start|>' + message['role']}}", with_system) ==
            "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
            "<|im_start|>user\nHello, how are you?<|im_end|>\n"
            "<|im_start|>assistant\nI'm doing great. How can I help you today?<|im_end|>\n"
            "<|im_start|>user\nWhat is 2+2? Answer briefly.<|im_end|>\n<|im_start|>assistant\n");
    REQUIRE(rendered("{{bos_token}}{{'<|im_start|>' + message['role']}}", {hello}) ==
            "<s><|im_start|>user\nHello, how are you?<|im_end|>\n<|im_start|>assistant\n");
}

TEST_CASE("Llama 3 trims and begins with the begin token once") {
    REQUIRE(rendered("{{ bos_token }}<|start_header_id|>", {helpful, {Role::user, "  spaced\n"}}) ==
            "<s><|start_header_id|>system<|end_header_id|>\n\nYou are a helpful assistant.<|eot_id|>"
            "<|start_header_id|>user<|end_header_id|>\n\nspaced<|eot_id|>"
            "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

TEST_CASE("Llama 2 puts the system message into the first user turn and a begin token before each") {
    REQUIRE(rendered("bos_token + '[INST] ' <<SYS>> ' [/INST]'", with_system) ==
            "<s>[INST] <<SYS>>\nYou are a helpful assistant.\n<</SYS>>\n\nHello, how are you? [/INST] "
            "I'm doing great. How can I help you today? </s><s>[INST] What is 2+2? Answer briefly. [/INST]");
}

TEST_CASE("Mistral's spacings are told apart") {
    REQUIRE(rendered("bos_token '[INST] ' + c + ' [/INST]'", plain) ==
            "<s>[INST] Hello, how are you? [/INST]I'm doing great. How can I help you today?</s> "
            "[INST] What is 2+2? Answer briefly. [/INST]");
    REQUIRE(rendered("bos_token '[INST] ' + c + '[/INST]'", with_system) ==
            "<s>[INST] Hello, how are you?[/INST] I'm doing great. How can I help you today?</s>"
            "[INST] You are a helpful assistant.\n\nWhat is 2+2? Answer briefly.[/INST]");
    REQUIRE(rendered("bos_token '[INST]' + c + '[/INST]'", with_system) ==
            "<s>[INST]Hello, how are you?[/INST]I'm doing great. How can I help you today?</s>"
            "[INST]You are a helpful assistant.\n\nWhat is 2+2? Answer briefly.[/INST]");
    REQUIRE(rendered("bos_token [SYSTEM_PROMPT]x[/SYSTEM_PROMPT][INST]c[/INST]", with_system) ==
            "<s>[SYSTEM_PROMPT]You are a helpful assistant.[/SYSTEM_PROMPT][INST]Hello, how are you?[/INST]"
            "I'm doing great. How can I help you today?</s>[INST]What is 2+2? Answer briefly.[/INST]");
}

TEST_CASE(
    "Gemma names the assistant `model`; the system message goes with the first user turn, or is refused") {
    REQUIRE(rendered("{{ bos_token }}<start_of_turn>", with_system) ==
            "<s><start_of_turn>user\nYou are a helpful assistant.\n\nHello, how are you?<end_of_turn>\n"
            "<start_of_turn>model\nI'm doing great. How can I help you today?<end_of_turn>\n"
            "<start_of_turn>user\nWhat is 2+2? Answer briefly.<end_of_turn>\n<start_of_turn>model\n");
    REQUIRE(rendered("System role not supported <start_of_turn>", with_system) ==
            "error: Gemma 2 models know no system message");
    REQUIRE(rendered("System role not supported <start_of_turn>", {hello}) ==
            "<start_of_turn>user\nHello, how are you?<end_of_turn>\n<start_of_turn>model\n");
}

TEST_CASE("what a user types is not taken for a piece of the table") {
    REQUIRE(rendered("[INST]", {{Role::user, "{eos} {bos}"}}) == "[INST]{eos} {bos}[/INST]");
}

TEST_CASE("an unknown template is refused with the way around") {
    for (const char* text : {"", "{{ messages[0].content }}", "<|start|>user<|message|>"}) {
        const auto result = ChatTemplate::create(text);
        CAPTURE(text);
        REQUIRE(!result.has_value());
        REQUIRE(result.error().kind == ErrorKind::unsupported);
        REQUIRE(result.error().hint.find("--raw") != std::string::npos);
    }
}

TEST_CASE("conversations that a family cannot write are refused") {
    const Message second_system{Role::system, "x"};
    REQUIRE(rendered("<|im_start|>", {}) == "error: there are no messages");
    REQUIRE(rendered("<|im_start|>", {hello, second_system}) ==
            "error: a system message must be the first message");
    REQUIRE(rendered("[INST]", {hello, sum}) ==
            "error: Mistral Tekken models need user and assistant messages in turn, user first");
    REQUIRE(rendered("[INST]", {great}) ==
            "error: Mistral Tekken models need user and assistant messages in turn, user first");
    REQUIRE(rendered("[INST]", {helpful}) == "error: there is no user message");
    REQUIRE(rendered("<|im_start|>", {hello, sum}).find("error") == std::string::npos);
}
