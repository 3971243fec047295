#include "core/generate/prompt.hpp"

#include "core/generate/description.hpp"
#include "core/output/tools.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::generate {
namespace {

Error too_long(const ModelFile& file, uint32_t context_tokens, std::string_view length) {
    std::string hint = "shorten the prompt";
    if (file.trained_context_tokens > context_tokens) {
        hint = fmt::format("raise --ctx-size (the model was trained for {} tokens) or shorten the prompt",
                           file.trained_context_tokens);
    } else {
        hint += fmt::format(", or raise --ctx-size beyond the {} tokens that the model was trained for",
                            file.trained_context_tokens);
    }
    return {ErrorKind::context_exceeded,
            fmt::format("{}, but the context holds {} with the answer", length, context_tokens), hint};
}

/// Refuses a text by its length alone, before the cost of tokenizing it. No token has more bytes than the
/// longest one; bytes without a token are rare enough to be counted as if they had one.
Status check_text_length(const ModelFile& file, const EncodeLimits& limits, std::size_t bytes) {
    const std::size_t longest = std::max<std::size_t>(file.longest_token_bytes, 1);
    if (!limits.must_fit || bytes / longest < limits.context_tokens)
        return {};
    return too_long(
        file, limits.context_tokens,
        fmt::format("the prompt has {} bytes, which are at least {} tokens", bytes, bytes / longest));
}

/// Approximates the size of a value as JSON text.
std::size_t bytes_of(const jinja::Value& value) {
    constexpr std::size_t bytes_per_value = 16;
    std::size_t bytes = bytes_per_value;
    if (value.is(jinja::Type::string) || value.is(jinja::Type::large))
        return bytes + value.string().size();
    if (value.is_sequence()) {
        for (const jinja::Value& item : value.sequence()->items)
            bytes += bytes_of(item);
    } else if (value.is(jinja::Type::dict)) {
        for (const auto& [name, member] : value.dict()->entries)
            bytes += bytes_of(name) + bytes_of(member);
    }
    return bytes;
}

/// Estimates the memory for rendering a conversation: copies of its messages, the template's values and the
/// output.
std::size_t rendering_bytes(const chat::Conversation& conversation) {
    constexpr std::size_t bytes_per_message = 2560;
    constexpr std::size_t copies = 8;
    std::size_t text = 0;
    for (const jinja::Value& tool : conversation.tools)
        text += bytes_of(tool);
    for (const auto& [name, value] : conversation.template_arguments)
        text += bytes_of(value);
    for (const chat::Message& message : conversation.messages) {
        text += message.content.size() + message.reasoning.size();
        for (const chat::ToolCall& call : message.tool_calls)
            text += call.arguments.size();
    }
    return copies * text + bytes_per_message * conversation.messages.size();
}

bool has_system(const chat::Conversation& conversation) {
    return std::any_of(conversation.messages.begin(), conversation.messages.end(),
                       [](const chat::Message& one) { return one.role == chat::Role::system; });
}

text::EncodeOptions encode_options(const EncodeLimits& limits) {
    if (limits.budget == nullptr)
        return {};
    return {.is_cancelled = limits.budget->is_cancelled, .reserve_memory = &limits.budget->reserve_memory};
}

Result<Prompt> encode_text(const ModelFile& file, const std::string& text, const EncodeLimits& limits) {
    ETNA_CHECK(check_text_length(file, limits, text.size()));
    ETNA_TRY(auto tokens, file.tokenizer.encode(text, encode_options(limits)));
    Prompt prompt;
    prompt.text = text;
    prompt.content.kinds.assign(tokens.size(), engine::RowKind::prefill);
    prompt.content.tokens = std::move(tokens);
    prompt.answer = text.empty() ? text::TextPosition::start : text::TextPosition::continuation;
    return prompt;
}

/// Encodes a fill-in-the-middle prompt.
Result<Prompt> encode_infill(const ModelFile& file, const std::string& before, const std::string& after,
                             const EncodeLimits& limits) {
    const auto& infill = file.infill_tokens;
    if (!infill) {
        return invalid_argument("the model has no fill-in-the-middle tokens",
                                "omit the suffix, or use a model that was trained for it");
    }
    ETNA_CHECK(check_text_length(file, limits, before.size() + after.size()));
    text::EncodeOptions options = encode_options(limits);
    options.special = text::SpecialTokens::literal;
    options.bos = text::AddBos::never;
    ETNA_TRY(std::vector<TokenId> tokens, file.tokenizer.encode("", {}));
    ETNA_TRY(const auto head, file.tokenizer.encode(before, options));
    ETNA_TRY(const auto tail, file.tokenizer.encode(after, options));
    tokens.push_back(infill->prefix);
    tokens.insert(tokens.end(), head.begin(), head.end());
    tokens.push_back(infill->suffix);
    tokens.insert(tokens.end(), tail.begin(), tail.end());
    tokens.push_back(infill->middle);
    Prompt prompt;
    prompt.text = before;
    prompt.content.kinds.assign(tokens.size(), engine::RowKind::prefill);
    prompt.content.tokens = std::move(tokens);
    prompt.answer = text::TextPosition::continuation;
    return prompt;
}

/// A shorter message may occur in the text after it.
constexpr std::size_t searched_bytes_min = 32;

/// Returns the start of the last user message, at which an edited or repeated question diverges. Empty if the
/// template changes the message.
Result<std::vector<uint32_t>> branch_positions(const text::Tokenizer& tokenizer,
                                               const chat::Conversation& conversation, const Prompt& prompt,
                                               const text::EncodeOptions& options) {
    const auto last = std::find_if(conversation.messages.rbegin(), conversation.messages.rend(),
                                   [](const chat::Message& one) { return one.role == chat::Role::user; });
    if (last == conversation.messages.rend() || last->content.size() < searched_bytes_min)
        return std::vector<uint32_t>();
    const std::size_t begin = prompt.text.rfind(last->content);
    if (begin == std::string::npos)
        return std::vector<uint32_t>();
    ETNA_TRY(const auto before, tokenizer.encode(prompt.text.substr(0, begin), options));
    const std::vector<TokenId>& tokens = prompt.content.tokens;
    const auto agreed =
        std::mismatch(tokens.begin(), tokens.end(), before.begin(), before.end()).first - tokens.begin();
    return std::vector<uint32_t>{static_cast<uint32_t>(agreed)};
}

bool has_strict_function(const std::vector<jinja::Value>& tools) {
    const auto functions = output::functions_of(tools);
    return functions && std::any_of(functions->begin(), functions->end(),
                                    [](const output::Function& function) { return function.is_strict; });
}

Result<Prompt> encode_conversation(const ModelFile& file, const Defaults& defaults,
                                   const chat::Conversation& conversation, const Request& request,
                                   const EncodeLimits& limits) {
    ETNA_TRY(const ChatFormat* format, file.chat.find({.tools = !conversation.tools.empty()}));
    const PromptBudget unlimited;
    ETNA_TRY(auto rendered, render_conversation(file, defaults, conversation, request,
                                                limits.budget == nullptr ? unlimited : *limits.budget));
    Prompt prompt;
    prompt.text = std::move(rendered.text);
    prompt.barriers = std::move(rendered.barriers);
    prompt.adapted = {.notes = std::move(rendered.notes), .dropped = std::move(rendered.dropped)};
    if (rendered.ignores_thinking_off && may_think(*format))
        prompt.adapted.dropped.emplace_back("thinking");
    prompt.prefilled_bytes = rendered.prefilled_bytes;
    if (prompt.prefilled_bytes > 0)
        prompt.answer = text::TextPosition::continuation;
    const OutputFormat& output = rendered.tools_in_text ? format->output_for_tools_in_text : format->output;
    ETNA_CHECK(check_text_length(file, limits, prompt.text.size()));
    // If the template writes the BOS token, the tokenizer must not add another one.
    text::EncodeOptions options = encode_options(limits);
    const bool has_bos = format->chat_template.begins_with_bos(prompt.text, prompt.barriers);
    options.bos = has_bos ? text::AddBos::never : text::AddBos::as_model_says;
    options.barriers = prompt.barriers;
    const Transcript none;
    const Transcript& transcript = request.transcript == nullptr ? none : *request.transcript;
    ETNA_TRY(prompt.content, transcript.encode(file.tokenizer, prompt.text, options));
    if (limits.finds_branches) {
        ETNA_TRY(prompt.branch_positions, branch_positions(file.tokenizer, conversation, prompt, options));
    }
    prompt.syntax = &output.syntax;
    const chat::Thinking thinking = thinking_of(conversation, request);
    prompt.may_think =
        thinking == chat::Thinking::on || (thinking == chat::Thinking::template_default &&
                                           !format->chat_template.capabilities().skips_thinking_by_default);
    prompt.markers = conversation.tools.empty() ? output.markers_without_calls : output.markers;
    prompt.tools = conversation.tools;
    prompt.is_structured = request.grammar.has_value();
    prompt.has_strict_calls = request.grammar || request.has_strict_tools || conversation.required_tool ||
                              has_strict_function(conversation.tools);
    return prompt;
}

Status check_tokens(const text::Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
    const auto unknown =
        std::find_if(tokens.begin(), tokens.end(), [&](TokenId token) { return token >= tokenizer.size(); });
    if (unknown == tokens.end())
        return {};
    return invalid_argument(
        fmt::format("{} is not a token of the model, which has {}", *unknown, tokenizer.size()));
}

Result<Prompt> prompt_from_tokens(const text::Tokenizer& tokenizer, const std::vector<TokenId>& tokens) {
    ETNA_CHECK(check_tokens(tokenizer, tokens));
    Prompt prompt;
    prompt.content = {.tokens = tokens, .kinds = std::vector(tokens.size(), engine::RowKind::prefill)};
    prompt.answer = text::TextPosition::continuation;
    return prompt;
}

/// Returns the bytes of the parts that must not be shortened.
std::size_t bytes_that_stay(const std::vector<PromptPart>& parts) {
    std::size_t bytes = 0;
    for (const PromptPart& part : parts) {
        if (const auto* text = std::get_if<std::string>(&part.content);
            text != nullptr && !part.may_lose_start)
            bytes += text->size();
    }
    return bytes;
}

/// Drops the first tokens of the parts that allow it, in order, until the prompt fits the context with a
/// token of the answer.
void shorten(std::vector<std::vector<TokenId>>& encoded, const std::vector<PromptPart>& parts,
             std::size_t context_tokens) {
    std::size_t total = 1;
    for (const std::vector<TokenId>& tokens : encoded)
        total += tokens.size();
    for (std::size_t i = 0; i < parts.size() && total > context_tokens; ++i) {
        if (!parts[i].may_lose_start)
            continue;
        const std::size_t dropped = std::min(total - context_tokens, encoded[i].size());
        encoded[i].erase(encoded[i].begin(), encoded[i].begin() + static_cast<std::ptrdiff_t>(dropped));
        total -= dropped;
    }
}

Result<Prompt> encode_parts(const ModelFile& file, const std::vector<PromptPart>& parts,
                            const EncodeLimits& limits) {
    ETNA_CHECK(check_text_length(file, limits, bytes_that_stay(parts)));
    std::vector<std::vector<TokenId>> encoded;
    for (const PromptPart& part : parts) {
        if (const auto* tokens = std::get_if<std::vector<TokenId>>(&part.content)) {
            ETNA_CHECK(check_tokens(file.tokenizer, *tokens));
            encoded.push_back(*tokens);
            continue;
        }
        text::EncodeOptions options = encode_options(limits);
        options.special = part.special;
        options.bos = part.bos;
        ETNA_TRY(auto tokens, file.tokenizer.encode(std::get<std::string>(part.content), options));
        encoded.push_back(std::move(tokens));
    }
    shorten(encoded, parts, limits.context_tokens);
    Prompt prompt;
    for (const std::vector<TokenId>& tokens : encoded)
        prompt.content.tokens.insert(prompt.content.tokens.end(), tokens.begin(), tokens.end());
    prompt.content.kinds.assign(prompt.content.tokens.size(), engine::RowKind::prefill);
    prompt.answer = text::TextPosition::continuation;
    return prompt;
}

/// Puts the tokens of an earlier exchange before the prompt, whose own begin token is then left out. Errors:
/// invalid_argument (no token of the model).
Status add_earlier(const text::Tokenizer& tokenizer, const std::vector<TokenId>& earlier, Prompt& prompt) {
    if (earlier.empty())
        return {};
    ETNA_CHECK(check_tokens(tokenizer, earlier));
    PromptTokens& content = prompt.content;
    const bool has_begin = !content.tokens.empty() && content.tokens.front() == tokenizer.bos();
    const std::ptrdiff_t begin = has_begin ? 1 : 0;
    content.tokens.erase(content.tokens.begin(), content.tokens.begin() + begin);
    content.kinds.erase(content.kinds.begin(), content.kinds.begin() + begin);
    content.tokens.insert(content.tokens.begin(), earlier.begin(), earlier.end());
    content.kinds.insert(content.kinds.begin(), earlier.size(), engine::RowKind::prefill);
    for (uint32_t& position : prompt.branch_positions)
        position += static_cast<uint32_t>(earlier.size()) - static_cast<uint32_t>(begin);
    return {};
}

/// Truncates the prompt to its last `tokens_max` tokens.
void keep_last(Prompt& prompt, std::size_t tokens_max) {
    PromptTokens& content = prompt.content;
    if (content.tokens.size() <= tokens_max)
        return;
    prompt.branch_positions.clear();
    const auto surplus = static_cast<std::ptrdiff_t>(content.tokens.size() - tokens_max);
    content.tokens.erase(content.tokens.begin(), content.tokens.begin() + surplus);
    content.kinds.erase(content.kinds.begin(), content.kinds.begin() + surplus);
}

/// Applies the request's ContextShift to the prompt. `shortens`: otherwise, it only applies to the answer.
void apply_shift(const ContextShift& shift, bool shortens, std::optional<TokenId> bos,
                 uint32_t context_tokens, Prompt& prompt) {
    PromptTokens& content = prompt.content;
    const bool has_begin = !content.tokens.empty() && content.tokens.front() == bos;
    prompt.kept_tokens = kept_tokens(shift, content.tokens.size(), has_begin ? 1 : 0, context_tokens);
    if (!shortens || content.tokens.size() < context_tokens)
        return;
    prompt.is_shortened = true;
    prompt.branch_positions.clear();
    content.tokens = shortened(content.tokens, prompt.kept_tokens, context_tokens);
    content.kinds.resize(prompt.kept_tokens);
    content.kinds.resize(content.tokens.size(), engine::RowKind::prefill);
}

Result<Prompt> encode_untruncated(const ModelFile& file, const Defaults& defaults, const Request& request,
                                  const EncodeLimits& limits) {
    const auto* text = std::get_if<std::string>(&request.prompt);
    if (request.suffix && text == nullptr)
        return invalid_argument("a suffix requires a text prompt");
    if (request.suffix)
        return encode_infill(file, *text, *request.suffix, limits);
    if (text != nullptr)
        return encode_text(file, *text, limits);
    if (const auto* tokens = std::get_if<std::vector<TokenId>>(&request.prompt))
        return prompt_from_tokens(file.tokenizer, *tokens);
    if (const auto* parts = std::get_if<std::vector<PromptPart>>(&request.prompt))
        return encode_parts(file, *parts, limits);
    return encode_conversation(file, defaults, std::get<chat::Conversation>(request.prompt), request, limits);
}

/// Whether the text of the conversation, not the template, has the markers around an answer: then it asks for
/// them.
bool mentions_answer_markers(const output::Syntax& syntax, std::string_view text) {
    return std::any_of(syntax.answer.begin(), syntax.answer.end(), [text](const output::AnswerMarkers& pair) {
        return !pair.expected && text.find(pair.open) != std::string_view::npos;
    });
}

} // namespace

chat::Thinking thinking_of(const chat::Conversation& conversation, const Request& request) {
    const bool is_unrequested = conversation.thinking == chat::Thinking::template_default;
    return request.grammar && is_unrequested ? chat::Thinking::off : conversation.thinking;
}

Result<chat::AdaptedPrompt> render_conversation(const ModelFile& file, const Defaults& defaults,
                                                const chat::Conversation& conversation,
                                                const Request& request, const PromptBudget& budget) {
    if (budget.reserve_memory && !budget.reserve_memory(rendering_bytes(conversation)))
        return Error{ErrorKind::out_of_memory, "not enough memory to render the conversation"};
    ETNA_TRY(const ChatFormat* format, file.chat.find({.tools = !conversation.tools.empty()}));
    const chat::ChatTemplate& chat_template = format->chat_template;
    const chat::Thinking thinking = thinking_of(conversation, request);
    const bool turns_off = thinking != conversation.thinking && chat_template.capabilities().can_think;
    const bool adds_system = !defaults.system.empty() && !has_system(conversation);
    if (!turns_off && !adds_system)
        return chat::render_adapted(chat_template, conversation, request.now_unix_s);
    chat::Conversation changed = conversation;
    if (turns_off)
        changed.thinking = thinking;
    if (adds_system) {
        changed.messages.insert(changed.messages.begin(),
                                {.role = chat::Role::system, .content = defaults.system});
    }
    return chat::render_adapted(chat_template, changed, request.now_unix_s);
}

Result<Prompt> encode_prompt(const ModelFile& file, const Defaults& defaults, const Request& request,
                             const EncodeLimits& limits) {
    ETNA_TRY(Prompt prompt, encode_untruncated(file, defaults, request, limits));
    ETNA_CHECK(add_earlier(file.tokenizer, request.earlier_tokens, prompt));
    if (request.prompt_tokens_max)
        keep_last(prompt, *request.prompt_tokens_max);
    if (const bool shortens = shortens_prompt(request); shortens || continues_answer(request))
        apply_shift(*request.context_shift, shortens, file.tokenizer.bos(), limits.context_tokens, prompt);
    return prompt;
}

Result<std::optional<output::Parser>> make_parser(const Prompt& prompt) {
    if (prompt.syntax == nullptr)
        return std::optional<output::Parser>();
    const std::string_view prefilled =
        std::string_view(prompt.text).substr(prompt.text.size() - prompt.prefilled_bytes);
    const std::string_view before(prompt.text.data(), prompt.text.size() - prefilled.size());
    ETNA_TRY(auto parser,
             output::Parser::create(*prompt.syntax, {.start = start_after(*prompt.syntax, before),
                                                     .tools = prompt.tools,
                                                     .is_structured = prompt.is_structured,
                                                     .has_strict_calls = prompt.has_strict_calls,
                                                     .mentions_answer_markers =
                                                         mentions_answer_markers(*prompt.syntax, before)}));
    // Without the trailing white space, which the parser would deliver with the text that follows it.
    const std::string_view answer_start = prefilled.substr(0, prefilled.find_last_not_of(" \t\r\n") + 1);
    for (const output::Event& event : parser.push(answer_start)) {
        using Kind = output::EventKind;
        const bool is_text = event.kind == Kind::content || event.kind == Kind::reasoning ||
                             event.kind == Kind::content_was_reasoning;
        if (!is_text) {
            return invalid_argument("the last message contains a tool call, which cannot be continued",
                                    "continue a message that is text only");
        }
    }
    return std::optional<output::Parser>(std::move(parser));
}

Status check_length(const ModelFile& file, std::size_t prompt_tokens, uint32_t context_tokens) {
    if (prompt_tokens == 0)
        return invalid_argument("the prompt is empty");
    if (prompt_tokens < context_tokens)
        return {};
    return too_long(file, context_tokens, fmt::format("the prompt has {} tokens", prompt_tokens));
}

} // namespace etna::generate
