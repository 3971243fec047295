#include "core/generate/prompt.hpp"

#include "core/chat/adapt.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::generate {
namespace {

Result<Prompt> encode_text(const Model& model, const std::string& text) {
    ETNA_TRY(auto tokens, model.tokenizer().encode(text, {}));
    Prompt prompt;
    prompt.text = text;
    prompt.content.kinds.assign(tokens.size(), engine::RowKind::prompt);
    prompt.content.tokens = std::move(tokens);
    prompt.answer = text.empty() ? text::TextPosition::beginning : text::TextPosition::continuation;
    return prompt;
}

Result<Prompt> encode_conversation(const Model& model, const chat::Conversation& conversation,
                                   const Request& request) {
    ETNA_TRY(const ChatFormat* format, model.chat().find({.tools = !conversation.tools.empty()}));
    ETNA_TRY(auto rendered,
             chat::render_adapted(format->chat_template, request_json(conversation), request.now_unix_s));
    Prompt prompt;
    prompt.text = std::move(rendered.text);
    prompt.notes = std::move(rendered.notes);
    prompt.format = format;
    // A template that writes the begin token has done what the tokenizer would do.
    const std::string& bos = format->chat_template.special().bos;
    const bool has_bos = !bos.empty() && prompt.text.starts_with(bos);
    const text::EncodeOptions options = {.bos = has_bos ? text::AddBos::never : text::AddBos::as_model_says};
    const Transcript none;
    const Transcript& transcript = request.transcript == nullptr ? none : *request.transcript;
    ETNA_TRY(prompt.content, transcript.encode(model.tokenizer(), prompt.text, options));
    const auto& syntax = rendered.tools_in_text ? syntax_of_told_tools() : format->syntax;
    ETNA_TRY(prompt.parser, chat::output::Parser::create(syntax, {.start = start_after(syntax, prompt.text),
                                                                  .tools = conversation.tools}));
    return prompt;
}

} // namespace

Result<Prompt> encode_prompt(const Model& model, const Request& request) {
    if (const auto* text = std::get_if<std::string>(&request.prompt))
        return encode_text(model, *text);
    return encode_conversation(model, std::get<chat::Conversation>(request.prompt), request);
}

Status check_length(const Model& model, std::size_t prompt_tokens) {
    if (prompt_tokens == 0)
        return Error{ErrorKind::invalid_argument, "the prompt is empty"};
    const uint32_t context = model.context_tokens();
    if (prompt_tokens < context)
        return {};
    std::string hint = "shorten the prompt";
    if (model.trained_context_tokens() > context) {
        hint = fmt::format("raise --ctx-size (the model was trained for {} tokens) or shorten the prompt",
                           model.trained_context_tokens());
    } else {
        hint += fmt::format(", or raise --ctx-size beyond the {} tokens that the model was trained for",
                            model.trained_context_tokens());
    }
    return Error{ErrorKind::invalid_argument,
                 fmt::format("the prompt has {} tokens, but the context holds {} with the answer",
                             prompt_tokens, context),
                 hint};
}

} // namespace etna::generate
