#include "server/openai/completion_request.hpp"

#include "core/text/detokenizer.hpp"
#include "server/openai/completion_response.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

constexpr uint32_t openai_max_tokens = 16; ///< where nothing is asked for; OVMS goes on to the end
constexpr int64_t logprobs_max = 5;

/// Members that change nothing here.
const std::vector<std::string_view> without_effect = {"model", "user", "metadata", "store"};

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

/// A text, tokens, or a list of either.
std::vector<Prompt> read_prompts(Fields& fields, const RequestContext& context) {
    fields.require("prompt");
    const Json* given = fields.any("prompt");
    if (given == nullptr)
        return {};
    const uint32_t vocabulary = context.tokenizer->size();
    if (auto one = prompt_of(*given, vocabulary))
        return {std::move(*one)};
    std::vector<Prompt> prompts;
    for (const Json& json : given->is_array() ? *given : Json::array()) {
        if (auto one = prompt_of(json, vocabulary))
            prompts.push_back(std::move(*one));
    }
    if (prompts.empty() || prompts.size() != given->size())
        fields.refuse("prompt",
                      fmt::format("must be a string, a list of token ids below {}, or a list of such, and "
                                  "none of them empty",
                                  vocabulary),
                      "invalid_type");
    return prompts;
}

void read_logprobs(Fields& fields, bool echoes, generate::Request& request) {
    const auto count = fields.integer("logprobs", 0, logprobs_max);
    if (count)
        request.logprobs = static_cast<uint32_t>(*count);
    request.prompt_logprobs = count && echoes;
    const Json* of_prompt = fields.any("prompt_logprobs");
    if (of_prompt != nullptr && *of_prompt != 0)
        fields.refuse("prompt_logprobs", "is not supported yet", "unsupported_parameter");
}

std::string text_of_prompt(const Prompt& prompt, const text::Tokenizer& tokenizer) {
    if (const auto* text = std::get_if<std::string>(&prompt))
        return *text;
    return text::decode(tokenizer, std::get<std::vector<TokenId>>(prompt),
                        {.control = text::ControlTokens::shown});
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
    const bool echoes = fields.flag("echo").value_or(false);
    read_logprobs(fields, echoes, request);
    request.suffix = fields.text("suffix");
    if (request.suffix && !context.can_fill_gaps)
        fields.refuse("suffix", "needs a model that was trained for filling gaps, and this one was not");
    CompletionForm form = {.logprobs = request.logprobs,
                           .tells_text = fields.flag("detokenize").value_or(true),
                           .echoes = echoes};
    std::vector<Prompt> prompts = read_prompts(fields, context);
    if (prompts.size() * request.choices > context.limits.answers_max)
        fields.refuse("prompt", fmt::format("asks for {} answers with `n`; at most {} are given at once",
                                            prompts.size() * request.choices, context.limits.answers_max));
    fields.accept(without_effect);
    if (fields.problem())
        return *fields.problem();
    call.delivery.ignored = fields.unknown();

    std::vector<std::string> echoed;
    for (Prompt& prompt : prompts) {
        echoed.push_back(echoes ? text_of_prompt(prompt, *context.tokenizer) : "");
        request.prompt = std::move(prompt);
        call.requests.push_back(request);
    }
    call.writer = [form, echoed = std::move(echoed), choices = request.choices](uint32_t choice) {
        return std::make_unique<CompletionChoice>(choice, form, echoed[choice / choices]);
    };
    call.whole = [] { return std::make_unique<WholeCompletion>(); };
    return call;
}

} // namespace etna::server::openai
