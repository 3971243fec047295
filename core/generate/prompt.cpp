#include "core/generate/prompt.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::generate {
namespace {

Error too_long(const Model& model, std::string_view length) {
    const uint32_t context = model.context_tokens();
    std::string hint = "shorten the prompt";
    if (model.trained_context_tokens() > context) {
        hint = fmt::format("raise --ctx-size (the model was trained for {} tokens) or shorten the prompt",
                           model.trained_context_tokens());
    } else {
        hint += fmt::format(", or raise --ctx-size beyond the {} tokens that the model was trained for",
                            model.trained_context_tokens());
    }
    return {ErrorKind::context_exceeded,
            fmt::format("{}, but the context holds {} with the answer", length, context), hint};
}

/// Refuses a text by its length alone, before the cost of tokenizing it. No token has more bytes than the
/// longest one; bytes without a token are rare enough to be counted as if they had one.
Status check_bytes(const Model& model, const EncodeBounds& bounds, std::size_t bytes) {
    const std::size_t longest = std::max<std::size_t>(model.longest_token_bytes(), 1);
    if (!bounds.must_fit || bytes / longest < model.context_tokens())
        return {};
    return too_long(
        model, fmt::format("the prompt has {} bytes, which are at least {} tokens", bytes, bytes / longest));
}

/// Estimates the memory for rendering a conversation: its JSON text, two parsed copies of that, the
/// template's values and the output.
std::size_t rendering_bytes(const chat::Conversation& conversation) {
    constexpr std::size_t bytes_of_message = 2560;
    constexpr std::size_t copies = 8;
    std::size_t text = conversation.tools.size() + conversation.template_arguments.size();
    for (const chat::Message& message : conversation.messages) {
        text += message.content.size() + message.reasoning.size();
        for (const chat::ToolCall& call : message.tool_calls)
            text += call.arguments.size();
    }
    return copies * text + bytes_of_message * conversation.messages.size();
}

text::EncodeOptions encode_options(const EncodeBounds& bounds) {
    if (bounds.costs == nullptr)
        return {};
    return {.is_cancelled = &bounds.costs->is_cancelled, .reserve_memory = &bounds.costs->reserve_memory};
}

Result<Prompt> encode_text(const Model& model, const std::string& text, const EncodeBounds& bounds) {
    ETNA_CHECK(check_bytes(model, bounds, text.size()));
    ETNA_TRY(auto tokens, model.tokenizer().encode(text, encode_options(bounds)));
    Prompt prompt;
    prompt.text = text;
    prompt.content.kinds.assign(tokens.size(), engine::RowKind::prefill);
    prompt.content.tokens = std::move(tokens);
    prompt.answer = text.empty() ? text::TextPosition::start : text::TextPosition::continuation;
    return prompt;
}

/// Encodes a fill-in-the-middle prompt.
Result<Prompt> encode_gap(const Model& model, const std::string& before, const std::string& after,
                          const EncodeBounds& bounds) {
    const auto& marks = model.infill_tokens();
    if (!marks) {
        return Error{ErrorKind::invalid_argument, "the model has no tokens for filling a gap",
                     "leave the suffix away, or take a model that was trained for it"};
    }
    ETNA_CHECK(check_bytes(model, bounds, before.size() + after.size()));
    text::EncodeOptions inside = encode_options(bounds);
    inside.special = text::SpecialTokens::literal;
    inside.bos = text::AddBos::never;
    ETNA_TRY(std::vector<TokenId> tokens, model.tokenizer().encode("", {}));
    ETNA_TRY(const auto head, model.tokenizer().encode(before, inside));
    ETNA_TRY(const auto tail, model.tokenizer().encode(after, inside));
    tokens.push_back(marks->prefix);
    tokens.insert(tokens.end(), head.begin(), head.end());
    tokens.push_back(marks->suffix);
    tokens.insert(tokens.end(), tail.begin(), tail.end());
    tokens.push_back(marks->middle);
    Prompt prompt;
    prompt.text = before;
    prompt.content.kinds.assign(tokens.size(), engine::RowKind::prefill);
    prompt.content.tokens = std::move(tokens);
    prompt.answer = text::TextPosition::continuation;
    return prompt;
}

Result<Prompt> encode_conversation(const Model& model, const chat::Conversation& conversation,
                                   const Request& request, const EncodeBounds& bounds) {
    ETNA_TRY(const ChatFormat* format, model.chat().find({.tools = !conversation.tools.empty()}));
    const PromptCosts free_of_charge;
    ETNA_TRY(auto rendered, render_conversation(model, conversation, request.now_unix_s,
                                                bounds.costs == nullptr ? free_of_charge : *bounds.costs));
    Prompt prompt;
    prompt.text = std::move(rendered.text);
    prompt.notes = std::move(rendered.notes);
    prompt.begun_bytes = rendered.begun_bytes;
    if (prompt.begun_bytes > 0)
        prompt.answer = text::TextPosition::continuation;
    const OutputFormat& output = rendered.tools_in_text ? format->output_of_told_tools : format->output;
    ETNA_CHECK(check_bytes(model, bounds, prompt.text.size()));
    // If the template writes the BOS token, the tokenizer must not add another one.
    const std::string& bos = format->chat_template.special().bos;
    const bool has_bos = !bos.empty() && prompt.text.starts_with(bos);
    text::EncodeOptions options = encode_options(bounds);
    options.bos = has_bos ? text::AddBos::never : text::AddBos::as_model_says;
    const Transcript none;
    const Transcript& transcript = request.transcript == nullptr ? none : *request.transcript;
    ETNA_TRY(prompt.content, transcript.encode(model.tokenizer(), prompt.text, options));
    prompt.syntax = &output.syntax;
    prompt.may_think = conversation.thinking == chat::Thinking::on ||
                       (conversation.thinking == chat::Thinking::as_template_says &&
                        !format->chat_template.habits().is_thoughtless_unasked);
    prompt.marks = conversation.tools.empty() ? output.marks_without_calls : output.marks;
    prompt.tools = conversation.tools;
    prompt.is_form = request.grammar.has_value();
    return prompt;
}

Result<Prompt> take_tokens(const Model& model, const std::vector<TokenId>& tokens) {
    const auto wild = std::find_if(tokens.begin(), tokens.end(),
                                   [&](TokenId token) { return token >= model.tokenizer().size(); });
    if (wild != tokens.end()) {
        return Error{ErrorKind::invalid_argument, fmt::format("{} is not a token of the model, which has {}",
                                                              *wild, model.tokenizer().size())};
    }
    Prompt prompt;
    prompt.content = {.tokens = tokens, .kinds = std::vector(tokens.size(), engine::RowKind::prefill)};
    prompt.answer = text::TextPosition::continuation;
    return prompt;
}

/// Truncates from the front.
void shorten(PromptTokens& content, std::size_t tokens_max) {
    if (content.tokens.size() <= tokens_max)
        return;
    const auto surplus = static_cast<std::ptrdiff_t>(content.tokens.size() - tokens_max);
    content.tokens.erase(content.tokens.begin(), content.tokens.begin() + surplus);
    content.kinds.erase(content.kinds.begin(), content.kinds.begin() + surplus);
}

Result<Prompt> encode_whole(const Model& model, const Request& request, const EncodeBounds& bounds) {
    const auto* text = std::get_if<std::string>(&request.prompt);
    if (request.suffix && text == nullptr)
        return Error{ErrorKind::invalid_argument, "a suffix needs a prompt that is text"};
    if (request.suffix)
        return encode_gap(model, *text, *request.suffix, bounds);
    if (text != nullptr)
        return encode_text(model, *text, bounds);
    if (const auto* tokens = std::get_if<std::vector<TokenId>>(&request.prompt))
        return take_tokens(model, *tokens);
    return encode_conversation(model, std::get<chat::Conversation>(request.prompt), request, bounds);
}

} // namespace

Result<chat::AdaptedPrompt> render_conversation(const Model& model, const chat::Conversation& conversation,
                                                int64_t now_unix_s, const PromptCosts& costs) {
    if (costs.reserve_memory && !costs.reserve_memory(rendering_bytes(conversation)))
        return Error{ErrorKind::out_of_memory, "there is no memory to render the conversation"};
    ETNA_TRY(const ChatFormat* format, model.chat().find({.tools = !conversation.tools.empty()}));
    return chat::render_adapted(format->chat_template, request_json(conversation), now_unix_s);
}

Result<Prompt> encode_prompt(const Model& model, const Request& request, const EncodeBounds& bounds) {
    ETNA_TRY(Prompt prompt, encode_whole(model, request, bounds));
    if (request.prompt_tokens_max)
        shorten(prompt.content, *request.prompt_tokens_max);
    return prompt;
}

Result<std::optional<output::Parser>> make_parser(const Prompt& prompt) {
    if (prompt.syntax == nullptr)
        return std::optional<output::Parser>();
    const std::string_view begun =
        std::string_view(prompt.text).substr(prompt.text.size() - prompt.begun_bytes);
    const std::string_view before(prompt.text.data(), prompt.text.size() - begun.size());
    ETNA_TRY(auto parser,
             output::Parser::create(*prompt.syntax, {.start = start_after(*prompt.syntax, before),
                                                     .tools = prompt.tools,
                                                     .is_form = prompt.is_form}));
    // Trailing white space would be delivered with the text that follows, which belongs to the answer alone.
    const std::string_view read = begun.substr(0, begun.find_last_not_of(" \t\r\n") + 1);
    for (const output::Event& event : parser.push(read)) {
        using Kind = output::EventKind;
        const bool is_text = event.kind == Kind::content || event.kind == Kind::reasoning ||
                             event.kind == Kind::content_was_reasoning;
        if (!is_text) {
            return Error{ErrorKind::invalid_argument, "the last message has begun to call a tool",
                         "go on with a message that is text"};
        }
    }
    return std::optional<output::Parser>(std::move(parser));
}

Status check_length(const Model& model, std::size_t prompt_tokens) {
    if (prompt_tokens == 0)
        return Error{ErrorKind::invalid_argument, "the prompt is empty"};
    if (prompt_tokens < model.context_tokens())
        return {};
    return too_long(model, fmt::format("the prompt has {} tokens", prompt_tokens));
}

} // namespace etna::generate
