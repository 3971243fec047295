// POST /v1/completions. Sources: OpenAI API 2.3.0; the description of the same endpoint by OVMS; vLLM's
// additions.

#include "core/base/utf8.hpp"
#include "core/text/detokenizer.hpp"
#include "server/api/sampling_fields.hpp"
#include "server/base/fields.hpp"
#include "server/faces/openai/endpoints.hpp"
#include "server/faces/openai/generation_endpoint.hpp"
#include "server/faces/openai/response_format.hpp"
#include "server/faces/openai/token_outputs.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

/// Output options of a completion.
struct CompletionOptions {
    std::optional<uint32_t> logprobs = {}; ///< number of top logprobs; empty: no logprobs
    TokenNames token_names = TokenNames::text;
    bool includes_text = true;  ///< false: token ids instead
    bool echoes_prompt = false; ///< the text starts with the prompt
};

/// The logprobs of a text as parallel lists: tokens, their logprobs, their offsets in the text in characters,
/// and the likeliest tokens at their positions.
class LogprobColumns {
public:
    explicit LogprobColumns(const CompletionOptions& options) : options_(options) {}

    /// Adds a token of an echoed prompt; ignores it unless both echo and logprobs are requested.
    void add(const generate::PromptTokenDelta& token);
    /// Sets the text before the answer.
    void begin_answer(std::string_view prompt) { characters_ = characters_in(prompt); }
    void add(const std::vector<generate::EmittedToken>& tokens);

    /// Takes the lists since the last call; null if they are empty.
    Json take() { return std::exchange(lists_, Json()); }
    /// As take(), for the last time: lists without any token in the whole text are empty lists.
    Json take_last();

private:
    void add(const std::string& name, const generate::TokenDelta* likelihood, std::size_t characters);

    CompletionOptions options_;
    Json lists_;
    bool has_tokens_ = false;
    std::size_t characters_ = 0; ///< of text before the next token
};

/// {"text", "index", "logprobs", "finish_reason"}; without text, also `token_ids`: the tokens of this piece.
class CompletionChoiceStream : public ChoiceStream {
public:
    /// `prompt` is used only if the options echo it.
    CompletionChoiceStream(uint32_t index, const CompletionOptions& options,
                           generate::PendingLogprobs pending, std::string prompt)
        : index_(index), options_(options), prompt_(std::move(prompt)), pending_(std::move(pending)),
          logprobs_(options) {}

    /// The prompt, if echoed; with logprobs it is delivered later, with the first token.
    std::optional<Json> begin() override;
    std::optional<Json> take(const generate::Event& event) override;

private:
    std::optional<Json> take_token(const generate::TokenDelta& token);
    Json end(const generate::Finished& finished);
    std::optional<Json> prompt_piece();
    Json piece(std::string_view text);

    uint32_t index_;
    CompletionOptions options_;
    std::string prompt_;
    bool has_sent_prompt_ = false;
    generate::PendingLogprobs pending_;
    std::vector<TokenId> pending_ids_; ///< pending ids, if ids are returned instead of text
    LogprobColumns logprobs_;          ///< of the next piece
};

/// A token as text; incomplete UTF-8 in the format of OpenAI's older models: "bytes:\xe2\x82".
std::string token_text(const std::string& bytes) {
    if (valid_utf8_prefix(bytes) == bytes.size())
        return bytes;
    std::string text = "bytes:";
    for (const char byte : bytes)
        text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    return text;
}

/// The token's name: its text or its id.
std::string name_of(TokenId token, const std::string& bytes, TokenNames names) {
    return names == TokenNames::ids ? token_id_name(token) : token_text(bytes);
}

/// The `count` most likely tokens by name, and the sampled one.
Json top_of(const generate::TokenDelta& token, std::size_t count, TokenNames names) {
    Json top = Json::object();
    for (const generate::TokenLogprob& likely : std::span(token.top).first(std::min(count, token.top.size())))
        top[name_of(likely.token, likely.bytes, names)] = likely.logprob;
    top[name_of(token.chosen.token, token.chosen.bytes, names)] = token.chosen.logprob;
    return top;
}

/// Counts the characters that start in the token, as for answer tokens. The text may lack the begin token and
/// SentencePiece's space, which the tokenizer prepends.
std::size_t characters_of(const generate::PromptTokenDelta& token) {
    const std::size_t all = characters_in(token.bytes);
    const bool is_valid = valid_utf8_prefix(token.bytes) == token.bytes.size();
    return is_valid ? std::min(all, characters_in(token.text)) : all;
}

/// The logprobs of an answer without tokens.
Json no_logprobs(uint32_t top) {
    Json empty = {
        {"tokens", Json::array()}, {"token_logprobs", Json::array()}, {"text_offset", Json::array()}};
    if (top > 0)
        empty["top_logprobs"] = Json::array();
    return empty;
}

void LogprobColumns::add(const generate::PromptTokenDelta& token) {
    if (options_.echoes_prompt && options_.logprobs) {
        add(name_of(token.token, token.bytes, options_.token_names),
            token.likelihood ? &*token.likelihood : nullptr, characters_of(token));
    }
}

void LogprobColumns::add(const std::vector<generate::EmittedToken>& tokens) {
    for (const auto& [token, characters] : tokens)
        add(name_of(token.chosen.token, token.chosen.bytes, options_.token_names), &token, characters);
}

/// `likelihood` is null for the first token of a prompt, which has no context. Offsets count characters from
/// the start of the text.
void LogprobColumns::add(const std::string& name, const generate::TokenDelta* likelihood,
                         std::size_t characters) {
    const bool has_likelihood = likelihood != nullptr;
    has_tokens_ = true;
    lists_["tokens"].push_back(name);
    lists_["token_logprobs"].push_back(has_likelihood ? Json(likelihood->chosen.logprob) : Json(nullptr));
    lists_["text_offset"].push_back(characters_);
    if (*options_.logprobs > 0) { // the published schema does not allow null here
        lists_["top_logprobs"].push_back(
            has_likelihood ? top_of(*likelihood, *options_.logprobs, options_.token_names) : Json(nullptr));
    }
    characters_ += characters;
}

Json LogprobColumns::take_last() {
    return options_.logprobs && !has_tokens_ ? no_logprobs(*options_.logprobs) : take();
}

std::optional<Json> CompletionChoiceStream::begin() {
    return options_.logprobs ? std::nullopt : prompt_piece();
}

std::optional<Json> CompletionChoiceStream::take(const generate::Event& event) {
    if (const auto* token = std::get_if<generate::PromptTokenDelta>(&event)) {
        logprobs_.add(*token);
    } else if (const auto* generated = std::get_if<generate::TokenDelta>(&event)) {
        return take_token(*generated);
    } else if (const auto* tokens = std::get_if<generate::FinalTokens>(&event)) {
        pending_.add(*tokens);
    } else if (const auto* text = std::get_if<generate::TextDelta>(&event)) {
        if (options_.includes_text)
            return piece(text->text);
    } else if (const auto* finished = std::get_if<generate::Finished>(&event)) {
        return end(*finished);
    }
    return std::nullopt;
}

/// The first token implies that the prompt is complete.
std::optional<Json> CompletionChoiceStream::take_token(const generate::TokenDelta& token) {
    std::optional<Json> before = prompt_piece();
    if (options_.logprobs)
        pending_.add(token);
    if (options_.includes_text)
        return before;
    pending_ids_.push_back(token.chosen.token);
    return piece("");
}

Json CompletionChoiceStream::end(const generate::Finished& finished) {
    std::optional<Json> before = prompt_piece(); // still pending if there was no token
    Json last = before ? std::move(*before) : piece("");
    if (last["logprobs"].is_null())
        last["logprobs"] = logprobs_.take_last();
    last["finish_reason"] = generate::to_string(finished.finish_reason);
    return last;
}

/// Returns the echoed prompt once, if requested.
std::optional<Json> CompletionChoiceStream::prompt_piece() {
    if (!options_.echoes_prompt || !options_.includes_text || has_sent_prompt_)
        return std::nullopt;
    has_sent_prompt_ = true;
    logprobs_.begin_answer(prompt_);
    return piece(prompt_);
}

/// Builds a piece with the logprobs of its tokens.
Json CompletionChoiceStream::piece(std::string_view text) {
    logprobs_.add(pending_.take_final());
    Json piece = {
        {"text", text}, {"index", index_}, {"logprobs", logprobs_.take()}, {"finish_reason", nullptr}};
    if (!options_.includes_text)
        piece["token_ids"] = std::exchange(pending_ids_, {});
    return piece;
}

/// Returns the whole choice, in the form of a piece. `prompt`: the text to echo.
Json completion_choice_json(uint32_t index, const CompletionOptions& options, const std::string& prompt,
                            const generate::CollectedAnswer& answer) {
    std::string text;
    LogprobColumns columns(options);
    for (const generate::PromptTokenDelta& token : answer.prompt())
        columns.add(token);
    if (options.includes_text && options.echoes_prompt) {
        text = prompt;
        columns.begin_answer(prompt);
    }
    if (options.includes_text)
        text += answer.text();
    columns.add(answer.logprobs());
    Json choice = {{"text", std::move(text)},
                   {"index", index},
                   {"logprobs", columns.take_last()},
                   {"finish_reason", generate::to_string(answer.finished()->finish_reason)}};
    if (!options.includes_text)
        choice["token_ids"] = answer.tokens();
    return choice;
}

constexpr uint32_t openai_max_tokens = 16; ///< the default on OpenAI paths; OVMS has no limit

using Prompt = decltype(generate::Request::prompt);

bool is_token(const Json& json, uint32_t vocabulary) {
    return json.is_number_unsigned() && json.get<uint64_t>() < vocabulary;
}

std::optional<std::vector<TokenId>> tokens_of(const Json& list, uint32_t vocabulary) {
    const bool are_tokens =
        list.is_array() && !list.empty() &&
        std::all_of(list.begin(), list.end(), [&](const Json& token) { return is_token(token, vocabulary); });
    return are_tokens ? std::optional(list.get<std::vector<TokenId>>()) : std::nullopt;
}

std::optional<Prompt> prompt_of(const Json& json, uint32_t vocabulary) {
    if (json.is_string())
        return json.get<std::string>();
    if (auto tokens = tokens_of(json, vocabulary))
        return std::move(*tokens);
    return std::nullopt;
}

/// Reads a string, token ids, or a list of either.
std::vector<Prompt> read_prompts(Fields& fields, const api::RequestContext& context) {
    fields.require("prompt");
    const Json* given = fields.any("prompt");
    if (given == nullptr)
        return {};
    const uint32_t vocabulary = context.tokenizer->size();
    if (auto prompt = prompt_of(*given, vocabulary))
        return {std::move(*prompt)};
    const bool is_list_of_prompts =
        given->is_array() && !given->empty() && (given->front().is_string() || given->front().is_array());
    if (is_list_of_prompts && given->size() > context.limits.answers_max) {
        fields.refuse("prompt",
                      fmt::format("has {} prompts; at most {} are accepted per request", given->size(),
                                  context.limits.answers_max),
                      "array_above_max_length");
        return {};
    }
    std::vector<Prompt> prompts;
    for (std::size_t i = 0; given->is_array() && i < given->size() && i == prompts.size(); ++i) {
        if (auto prompt = prompt_of((*given)[i], vocabulary))
            prompts.push_back(std::move(*prompt));
    }
    if (prompts.empty() || prompts.size() != given->size()) {
        fields.refuse("prompt",
                      fmt::format("must be a non-empty string, a non-empty list of token ids below {}, or "
                                  "a list of these",
                                  vocabulary),
                      "invalid_type");
    }
    return prompts;
}

/// Returns the number of `prompt_logprobs` per position; empty if not requested.
std::optional<uint32_t> read_logprobs(Fields& fields, bool echoes_prompt, generate::Request& request) {
    if (const auto count = fields.integer("logprobs", 0, generate::logprobs_max))
        request.logprobs = static_cast<uint32_t>(*count);
    const auto prompt_logprobs = read_prompt_logprobs(fields);
    request.prompt_logprobs = prompt_logprobs;
    if (echoes_prompt && request.logprobs) // the echo reports them in the answer's format
        request.prompt_logprobs = std::max(prompt_logprobs.value_or(0), *request.logprobs);
    return prompt_logprobs;
}

std::string text_of_prompt(const Prompt& prompt, const text::Tokenizer& tokenizer) {
    if (const auto* text = std::get_if<std::string>(&prompt))
        return *text;
    return text::decode(tokenizer, std::get<std::vector<TokenId>>(prompt),
                        {.control = text::ControlTokens::shown});
}

/// The text of the prompt tokens that truncation left, a suffix of the prompt.
std::string remaining_text(const std::string& prompt, std::span<const TokenId> tokens,
                           const text::Tokenizer& tokenizer) {
    const text::DetokenizeOptions options = {.control = text::ControlTokens::shown};
    const bool has_begin = !tokens.empty() && tokenizer.type(tokens.front()) == text::TokenType::control;
    if (has_begin && text::decode(tokenizer, tokens.subspan(1), options) == prompt)
        return prompt; // nothing was truncated, and the begin token has no text
    return text::decode(tokenizer, tokens, options);
}

/// Whether the prompt tokenizes to nothing; an empty text does not if the tokenizer adds a begin token.
bool is_empty(const Prompt& prompt, const text::Tokenizer& tokenizer) {
    const auto* const text = std::get_if<std::string>(&prompt);
    if (text == nullptr || !text->empty())
        return false;
    const auto tokens = tokenizer.encode("", {});
    return tokens && tokens->empty();
}

} // namespace

ApiResult<GenerationRequest> read_completion(const Json& body, const api::RequestContext& context) {
    Fields fields(body);
    GenerationRequest parsed;
    parsed.call.prompt_member = "prompt";
    generate::Request request;
    read_output_options(fields, parsed.output_options);
    api::read_generation(fields, context, parsed.output_options.is_streamed, request, {.max_tokens_min = 0});
    if (!request.max_tokens && !request.is_unbounded && context.dialect == api::Dialect::openai)
        request.max_tokens = std::max(openai_max_tokens, request.min_tokens);
    api::check_ignored_end(fields, context.limits, request);
    read_response_format(fields, request); // as in chats, but there is no template to inform the model
    const bool echoes_prompt = fields.flag("echo").value_or(false);
    const auto prompt_logprobs = read_logprobs(fields, echoes_prompt, request);
    request.suffix = fields.text("suffix");
    if (request.suffix && !context.supports_infill)
        fields.refuse("suffix", "requires a model that was trained for infilling; this one was not");
    const TokenIdOptions token_ids = read_token_id_options(fields);
    const CompletionOptions options = {.logprobs = request.logprobs,
                                       .token_names =
                                           token_ids.ids_as_names ? TokenNames::ids : TokenNames::text,
                                       .includes_text = fields.flag("detokenize").value_or(true),
                                       .echoes_prompt = echoes_prompt};
    if ((!options.includes_text || needs_tokens(token_ids, parsed.output_options)) && !request.logprobs)
        request.logprobs = 0; // makes tokens arrive one by one
    std::vector<Prompt> prompts = read_prompts(fields, context);
    if (std::any_of(prompts.begin(), prompts.end(),
                    [&](const Prompt& prompt) { return is_empty(prompt, *context.tokenizer); }))
        fields.refuse("prompt", "is empty");
    api::check_answers(fields, context.limits, prompts.size(), request);
    fields.accept({"model"});
    accept_without_effect(fields, /*is_stored=*/false);
    ETNA_CHECK(fields.status());
    parsed.call.ignored = api::ignored_members(fields);

    std::vector<std::string> echoed;
    for (Prompt& prompt : prompts) {
        echoed.push_back(echoes_prompt ? text_of_prompt(prompt, *context.tokenizer) : "");
        request.prompt = std::move(prompt);
        parsed.call.requests.push_back(request);
    }
    // Ids are returned one by one, independently of their text.
    const generate::PendingLogprobs pending =
        options.includes_text
            ? generate::PendingLogprobs(request, *context.tokenizer, text::TextPosition::continuation)
            : generate::PendingLogprobs();
    const auto text_to_echo = [echoed = std::move(echoed), choices = request.choices,
                               is_truncated = echoes_prompt && request.prompt_tokens_max,
                               tokenizer = context.tokenizer](uint32_t choice,
                                                              std::span<const TokenId> prompt) {
        const std::string& text = echoed[choice / choices];
        return is_truncated ? remaining_text(text, prompt, *tokenizer) : text;
    };
    parsed.make_stream = [options, pending, text_to_echo](uint32_t choice, std::span<const TokenId> prompt) {
        return std::make_unique<CompletionChoiceStream>(choice, options, pending,
                                                        text_to_echo(choice, prompt));
    };
    parsed.write_choice = [options, text_to_echo](uint32_t choice, std::span<const TokenId> prompt,
                                                  const generate::CollectedAnswer& answer) {
        return completion_choice_json(choice, options, text_to_echo(choice, prompt), answer);
    };
    parsed.collected.keeps_prompt = request.prompt_logprobs.has_value();
    if (options.logprobs)
        parsed.collected.logprobs = pending;
    if (prompt_logprobs)
        add_prompt_logprobs(parsed, *prompt_logprobs);
    if (token_ids.ids)
        add_token_ids(parsed);
    return parsed;
}

ApiResult<HttpReply> completions(AnswerServices& services, const HttpRequest& request,
                                 const RoutedRequest& routed) {
    static const EndpointSpec spec = {.endpoint = "completions",
                                      .id_prefix = "cmpl-",
                                      .object = "text_completion",
                                      .chunk_object = "text_completion",
                                      .read = read_completion};
    return serve_generation(services, request, routed, spec);
}

} // namespace etna::server::openai
