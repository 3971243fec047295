#pragma once

#include "core/base/result.hpp"
#include "core/chat/message.hpp"

#include <span>
#include <string>
#include <string_view>

namespace etna::chat {

struct Shape;

/// What a template may name: the text of the model's begin and end tokens ("<s>", "</s>"); empty where it has
/// none.
struct SpecialText {
    std::string_view bos;
    std::string_view eos;
};

/// How a model wants a conversation written. Built from the text of `tokenizer.chat_template`, which is
/// matched against the few families that most models follow: ChatML, Llama 3, Gemma, Llama 2 and Mistral's
/// spacings. Default system messages that some templates carry are left out. Immutable; thread-safe; copies
/// are cheap.
class ChatTemplate {
public:
    /// Error: unsupported (of no known family; the hint names the way around).
    static Result<ChatTemplate> create(std::string_view template_text);

    /// "ChatML", "Llama 3", ...: for people.
    [[nodiscard]] std::string_view family() const;

    /// The prompt for the assistant's next turn, ending where the model has to go on. It begins with the
    /// begin token's text where the template writes it; whoever tokenizes must not add a second one. Errors:
    /// invalid_argument (no messages, a system message that is not the first, turns that do not alternate
    /// where the family demands it, a system message where the family knows none).
    [[nodiscard]] Result<std::string> render(std::span<const Message> messages,
                                             const SpecialText& special) const;

private:
    ChatTemplate(const Shape& shape, bool starts_with_bos)
        : shape_(&shape), starts_with_bos_(starts_with_bos) {}

    const Shape* shape_; ///< static
    bool starts_with_bos_;
};

} // namespace etna::chat
