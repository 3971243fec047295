#include "core/chat/continuation_private.hpp"
#include "core/chat/request_private.hpp"

#include <utility>

#include <fmt/format.h>

// As in Hugging Face Transformers (apply_chat_template): the message is rendered with a sentinel at its end,
// and the prompt is cut there. A search for the message's own text could match a short text elsewhere.
namespace etna::chat {
namespace {

Error wrong(std::string problem) {
    return {ErrorKind::invalid_argument, fmt::format("`continue_final_message`: {}", problem),
            "end the messages with one of the assistant's that has text"};
}

/// Returns the message's text: its content, or the last text part of its content; null if it has none.
Json* text_at_end(Json& message) {
    const auto content = message.find("content");
    if (content == message.end())
        return nullptr;
    if (content->is_string())
        return &*content;
    for (auto part = content->rbegin(); content->is_array() && part != content->rend(); ++part) {
        if (part->is_object() && part->contains("text") && (*part)["text"].is_string())
            return &(*part)["text"];
    }
    return nullptr;
}

} // namespace

bool continues_final_message(const Json& request) {
    const auto wish = request.find("continue_final_message");
    return wish != request.end() && *wish == true;
}

Result<std::string> mark_final_message(Json& request) {
    if (const auto turn = request.find("add_generation_prompt"); turn != request.end() && *turn == true)
        return wrong("cannot be true together with `add_generation_prompt`");
    Json& messages = request["messages"];
    if (messages.empty() || !has_role(messages.back(), "assistant"))
        return wrong("the last message is not one of the assistant's");
    Json* const text = text_at_end(messages.back());
    if (text == nullptr)
        return wrong("the last message has no text to go on with");
    const std::string whole = text_of(request);
    std::string mark = "ETNA-GOES-ON-HERE";
    while (whole.find(mark) != std::string::npos)
        mark += '-';
    // If the space is missing from the prompt, the template trims content.
    *text = text->get<std::string>() + mark + " ";
    request["add_generation_prompt"] = false;
    return mark;
}

Result<std::string> cut_at_mark(std::string prompt, const std::string& mark) {
    const std::size_t place = prompt.rfind(mark);
    if (place == std::string::npos)
        return wrong("the chat template does not write the last message's text");
    const bool is_trimmed = prompt.compare(place + mark.size(), 1, " ") != 0;
    prompt.resize(place);
    if (is_trimmed)
        prompt.resize(prompt.find_last_not_of(" \t\r\n") + 1);
    return prompt;
}

} // namespace etna::chat
