#include "core/chat/adapt.hpp"
#include "core/chat/builtin_templates.hpp"
#include "core/chat/chat_template.hpp"
#include "core/chat/conversation.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/values.hpp"

#include <algorithm>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::chat;

namespace {

// The expected prompts of chatml, llama2, llama3 and mistral are jinja2's renderings of the templates in
// EricLBuehler/mistral.rs (MIT); the others follow the formats as their vendors publish them.
const Message hello{.role = Role::user, .content = "Hello, how are you?"};
const Message great{.role = Role::assistant, .content = "I'm doing great. How can I help you today?"};
const Message sum{.role = Role::user, .content = "What is 2+2? Answer briefly."};
const Message helpful{.role = Role::system, .content = "You are a helpful assistant."};
const std::vector<Message> dialogue = {hello, great, sum};
const std::vector<Message> with_system = {helpful, hello, great, sum};

ChatTemplate builtin(std::string_view name) {
    const BuiltinTemplate* found = find_builtin_template(name);
    REQUIRE(found != nullptr);
    return ChatTemplate::create(found->text, {"<s>", "</s>"}).value();
}

std::string builtin_prompt(std::string_view name, const std::vector<Message>& messages) {
    const auto prompt = builtin(name).render(request_value({.messages = messages}), 0);
    return prompt ? prompt->text : "error: " + prompt.error().message;
}

} // namespace

TEST_CASE("chatml renders every turn in the same form") {
    CHECK(builtin_prompt("chatml", with_system) ==
          "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
          "<|im_start|>user\nHello, how are you?<|im_end|>\n"
          "<|im_start|>assistant\nI'm doing great. How can I help you today?<|im_end|>\n"
          "<|im_start|>user\nWhat is 2+2? Answer briefly.<|im_end|>\n<|im_start|>assistant\n");
}

TEST_CASE("chatml renders tools, calls and results in Hermes syntax") {
    Conversation conversation = {.messages = with_system,
                                 .tools =
                                     test::values_of(R"([{"type":"function","function":{"name":"roll"}}])")};
    conversation.messages.push_back(
        {.role = Role::assistant, .content = "", .tool_calls = {{"a", "roll", R"({"sides": 6})"}}});
    conversation.messages.push_back({.role = Role::tool, .content = "4", .tool_call_id = "a"});
    const auto prompt = builtin("chatml").render(request_value(conversation), 0);
    REQUIRE(prompt.has_value());
    CHECK(prompt->text.starts_with("<|im_start|>system\nYou are a helpful assistant.\n\n"));
    CHECK(prompt->text.find(
              "<tools>\n{\"type\": \"function\", \"function\": {\"name\": \"roll\"}}\n</tools>") !=
          std::string::npos);
    CHECK(prompt->text.ends_with(
        "<|im_start|>assistant\n<tool_call>\n{\"name\": \"roll\", \"arguments\": {\"sides\": "
        "6}}\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\n4\n"
        "</tool_response><|im_end|>\n<|im_start|>assistant\n"));
}

TEST_CASE("llama3 trims content and writes one BOS token") {
    CHECK(builtin_prompt("llama3", {helpful, {.role = Role::user, .content = "  spaced\n"}}) ==
          "<s><|start_header_id|>system<|end_header_id|>\n\nYou are a helpful assistant.<|eot_id|>"
          "<|start_header_id|>user<|end_header_id|>\n\nspaced<|eot_id|>"
          "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

TEST_CASE("llama2 puts the system message into the first user turn and a BOS token before each turn") {
    CHECK(builtin_prompt("llama2", with_system) ==
          "<s>[INST] <<SYS>>\nYou are a helpful assistant.\n<</SYS>>\n\nHello, how are you? [/INST] "
          "I'm doing great. How can I help you today? </s><s>[INST] What is 2+2? Answer briefly. [/INST]");
}

TEST_CASE("mistral puts the system message into the last user turn") {
    CHECK(builtin_prompt("mistral", with_system) ==
          "<s>[INST] Hello, how are you?[/INST] I'm doing great. How can I help you today?</s>"
          "[INST] You are a helpful assistant.\n\nWhat is 2+2? Answer briefly.[/INST]");
    CHECK(builtin_prompt("mistral", {hello, sum}) == "error: user and assistant have to take turns");
}

TEST_CASE("gemma names the assistant `model`") {
    CHECK(builtin_prompt("gemma", with_system) ==
          "<s><start_of_turn>user\nYou are a helpful assistant.\n\nHello, how are you?<end_of_turn>\n"
          "<start_of_turn>model\nI'm doing great. How can I help you today?<end_of_turn>\n"
          "<start_of_turn>user\nWhat is 2+2? Answer briefly.<end_of_turn>\n<start_of_turn>model\n");
}

TEST_CASE("phi3, zephyr and vicuna render their formats") {
    CHECK(builtin_prompt("phi3", {helpful, hello}) ==
          "<|system|>\nYou are a helpful assistant.<|end|>\n<|user|>\nHello, how are "
          "you?<|end|>\n<|assistant|>\n");
    CHECK(builtin_prompt("zephyr", {helpful, hello}) ==
          "<|system|>\nYou are a helpful assistant.</s>\n<|user|>\nHello, how are you?</s>\n<|assistant|>\n");
    CHECK(builtin_prompt("vicuna", with_system) ==
          "You are a helpful assistant.\n\nUSER: Hello, how are you?\n"
          "ASSISTANT: I'm doing great. How can I help you today?</s>\nUSER: What is 2+2? Answer briefly.\n"
          "ASSISTANT:");
}

TEST_CASE("every built-in template renders all messages of a conversation") {
    for (const BuiltinTemplate& each : builtin_templates()) {
        CAPTURE(std::string(each.name));
        const ChatTemplate chat_template = builtin(each.name);
        CHECK(chat_template.capabilities().renders_system);
        const auto prompt =
            render_adapted(chat_template, {.messages = {helpful, hello, sum, great, hello}}, 0);
        REQUIRE(prompt.has_value());
        for (const Message& message : {helpful, hello, sum, great})
            CHECK(prompt->text.find(message.content) != std::string::npos);
    }
}

TEST_CASE("a template is guessed from the vocabulary's markers") {
    const auto guess = [](const std::vector<std::string_view>& tokens) {
        return guess_builtin_template([&](std::string_view token) {
                   return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
               })
            .name;
    };
    CHECK(guess({"<|im_start|>", "<|im_end|>"}) == "chatml");
    CHECK(guess({"<|start_header_id|>"}) == "llama3");
    CHECK(guess({"<start_of_turn>"}) == "gemma");
    CHECK(guess({"[INST]"}) == "mistral");
    CHECK(guess({"<|assistant|>"}) == "phi3");
    CHECK(guess({"<s>", "</s>"}) == "chatml"); // the most common one
    CHECK(find_builtin_template("nonsense") == nullptr);
}
