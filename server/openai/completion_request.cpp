#include "server/openai/completion_request.hpp"

#include "core/text/detokenizer.hpp"
#include "server/openai/completion_response.hpp"
#include "server/openai/format_fields.hpp"
#include "server/openai/prompt_logprobs.hpp"
#include "server/openai/token_telling.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

constexpr uint32_t openai_max_tokens = 16; ///< the default on OpenAI paths; OVMS has no limit

using Prompt = decltype(generate::Request::prompt);

bool is_token(const Json& json, uint32_t vocabulary) {
    return json.is_number_unsigned() && json.get<uint64_t>() < vocabulary;
}

std::optional<std::vector<TokenId>> tokens_of(const Json& list, uint32_t vocabulary) {
    const bool is_good =
        list.is_array() && !list.empty() &&
        std::all_of(list.begin(), list.end(), [&](const Json& token) { return is_token(token, vocabulary); });
    return is_good ? std::optional(list.get<std::vector<TokenId>>()) : std::nullopt;
}

std::optional<Prompt> prompt_of(const Json& json, uint32_t vocabulary) {
    if (json.is_string())
        return json.get<std::string>();
    if (auto tokens = tokens_of(json, vocabulary))
        return std::move(*tokens);
    return std::nullopt;
}

/// Reads a string, token ids, or a list of either.
std::vector<Prompt> read_prompts(Fields& fields, const RequestContext& context) {
    fields.require("prompt");
    const Json* given = fields.any("prompt");
    if (given == nullptr)
        return {};
    const uint32_t vocabulary = context.tokenizer->size();
    if (auto one = prompt_of(*given, vocabulary))
        return {std::move(*one)};
    const bool is_list_of_prompts =
        given->is_array() && !given->empty() && (given->front().is_string() || given->front().is_array());
    if (is_list_of_prompts && given->size() > context.limits.answers_max) {
        fields.refuse("prompt",
                      fmt::format("has {} prompts; at most {} are answered at once", given->size(),
                                  context.limits.answers_max),
                      "array_above_max_length");
        return {};
    }
    std::vector<Prompt> prompts;
    for (std::size_t i = 0; given->is_array() && i < given->size() && i == prompts.size(); ++i) {
        if (auto one = prompt_of((*given)[i], vocabulary))
            prompts.push_back(std::move(*one));
    }
    if (prompts.empty() || prompts.size() != given->size()) {
        fields.refuse("prompt",
                      fmt::format("must be a string, a list of token ids below {}, or a list of such, and "
                                  "none of them empty",
                                  vocabulary),
                      "invalid_type");
    }
    return prompts;
}

/// Returns the number of `prompt_logprobs` per position; empty if not requested.
std::optional<uint32_t> read_logprobs(Fields& fields, bool echoes, generate::Request& request) {
    if (const auto count = fields.integer("logprobs", 0, generate::logprobs_max))
        request.logprobs = static_cast<uint32_t>(*count);
    const auto of_prompt = read_prompt_logprobs(fields);
    request.prompt_logprobs = of_prompt;
    if (echoes && request.logprobs) // the echo reports them in the answer's format
        request.prompt_logprobs = std::max(of_prompt.value_or(0), *request.logprobs);
    return of_prompt;
}

std::string text_of_prompt(const Prompt& prompt, const text::Tokenizer& tokenizer) {
    if (const auto* text = std::get_if<std::string>(&prompt))
        return *text;
    return text::decode(tokenizer, std::get<std::vector<TokenId>>(prompt),
                        {.control = text::ControlTokens::shown});
}

/// The text of the prompt tokens that truncation left, a suffix of the prompt.
std::string text_left(const std::string& whole, std::span<const TokenId> tokens,
                      const text::Tokenizer& tokenizer) {
    const text::DetokenizeOptions options = {.control = text::ControlTokens::shown};
    const bool has_begin = !tokens.empty() && tokenizer.type(tokens.front()) == text::TokenType::control;
    if (has_begin && text::decode(tokenizer, tokens.subspan(1), options) == whole)
        return whole; // nothing was cut, and the begin token has no text
    return text::decode(tokenizer, tokens, options);
}

/// Whether the prompt tokenizes to nothing; an empty text does not if the tokenizer adds a begin token.
bool is_nothing(const Prompt& prompt, const text::Tokenizer& tokenizer) {
    const auto* const text = std::get_if<std::string>(&prompt);
    if (text == nullptr || !text->empty())
        return false;
    const auto tokens = tokenizer.encode("", {});
    return tokens && tokens->empty();
}

} // namespace

std::variant<GenerationCall, ApiError> read_completion(const Json& body, const RequestContext& context) {
    Fields fields(body);
    GenerationCall call;
    generate::Request request;
    read_delivery(fields, call.delivery);
    read_generation(fields, context, call.delivery.is_streamed, request);
    if (!request.max_tokens && context.dialect == Dialect::openai)
        request.max_tokens = std::max(openai_max_tokens, request.min_tokens);
    check_ignored_end(fields, context.limits, request);
    read_response_format(fields, request); // as in chats, but there is no template to inform the model
    const bool echoes = fields.flag("echo").value_or(false);
    const auto of_prompt = read_logprobs(fields, echoes, request);
    request.suffix = fields.text("suffix");
    if (request.suffix && !context.can_fill_gaps)
        fields.refuse("suffix", "needs a model that was trained for filling gaps, and this one was not");
    const TokenWishes tokens = read_token_wishes(fields);
    const CompletionForm form = {.logprobs = request.logprobs,
                                 .token_names = tokens.ids_as_names ? TokenNames::ids : TokenNames::text,
                                 .tells_text = fields.flag("detokenize").value_or(true),
                                 .echoes = echoes,
                                 .told_stops = told_stops(request, *context.tokenizer)};
    if ((!form.tells_text || needs_tokens(tokens, call.delivery)) && !request.logprobs)
        request.logprobs = 0; // makes tokens arrive one by one
    std::vector<Prompt> prompts = read_prompts(fields, context);
    if (std::any_of(prompts.begin(), prompts.end(),
                    [&](const Prompt& prompt) { return is_nothing(prompt, *context.tokenizer); }))
        fields.refuse("prompt", "is empty");
    check_answers(fields, context.limits, prompts.size(), request);
    fields.accept({"model"});
    note_without_effect(fields, /*is_kept=*/false);
    if (fields.problem())
        return *fields.problem();
    read_ignored(fields, call.delivery);

    std::vector<std::string> echoed;
    for (Prompt& prompt : prompts) {
        echoed.push_back(echoes ? text_of_prompt(prompt, *context.tokenizer) : "");
        request.prompt = std::move(prompt);
        call.requests.push_back(request);
    }
    // Ids are returned one by one, independently of their text.
    const UntoldTokens untold =
        form.tells_text ? UntoldTokens(request, *context.tokenizer, text::TextPosition::continuation)
                        : UntoldTokens();
    call.writer = [form, untold, echoed = std::move(echoed), choices = request.choices,
                   is_cut = echoes && request.prompt_tokens_max,
                   tokenizer = context.tokenizer](uint32_t choice, std::span<const TokenId> prompt) {
        const std::string& whole = echoed[choice / choices];
        return std::make_unique<CompletionChoice>(choice, form, untold,
                                                  is_cut ? text_left(whole, prompt, *tokenizer) : whole);
    };
    call.whole = [] { return std::make_unique<WholeCompletion>(); };
    if (of_prompt)
        tell_prompt_logprobs(call, *of_prompt);
    if (tokens.ids)
        tell_token_ids(call);
    return call;
}

} // namespace etna::server::openai
