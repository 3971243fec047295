#include "server/api/embeddings.hpp"

#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace etna::server::api {
namespace {

/// Embeds the inputs in order. `at`: index of the input that an error is about.
Result<uint32_t> embed_inputs(ActiveRequest& active, EmbeddingCall& call, const CancelPoll& is_cancelled,
                              const std::function<void(const generate::Embedding&)>& take, std::size_t& at) {
    generate::Embedder embedder(*active.model());
    const generate::PromptBudget budget = active.prompt_budget(is_cancelled);
    constexpr std::size_t digits_max = 13; // of an element, with its comma
    const std::size_t width = call.dimensions.value_or(generate::embedding_dimensions(*active.model()));
    if (!budget.reserve_memory(call.inputs.size() * width * (sizeof(Json) + digits_max)))
        return Error{ErrorKind::out_of_memory, "not enough memory for the embeddings"};
    uint32_t tokens = 0;
    std::size_t added = 0;
    active.begin_embedding();
    for (std::size_t taken = 0; taken < call.inputs.size(); ++taken) {
        for (; added < call.inputs.size() && !embedder.is_full(); ++added) {
            at = added;
            ETNA_CHECK(embedder.add({.input = std::move(call.inputs[added]),
                                     .dimensions = call.dimensions,
                                     .normalisation = call.normalisation,
                                     .overlong = call.overlong,
                                     .cache_salt = active.cache_salt(),
                                     .client = active.client(),
                                     .priority = active.priority_of(call.priority)},
                                    budget));
        }
        at = taken;
        ETNA_TRY(const auto embedding, embedder.next(budget.is_cancelled));
        tokens += embedding.tokens;
        take(embedding);
    }
    return tokens;
}

} // namespace

ApiStatus check_embeddings(const ActiveRequest& active, const std::optional<uint32_t>& dimensions) {
    if (active.model()->defaults().pooling == generate::Pooling::rank) {
        return ApiError{
            .message = fmt::format("the model `{}` ranks texts, and has no embeddings", active.model_name()),
            .param = "model",
            .code = "unsupported_model"};
    }
    const uint32_t width = generate::embedding_dimensions(*active.model());
    if (dimensions.value_or(1) <= width)
        return {};
    return ApiError{.message = fmt::format("`dimensions` must be from 1 to {} with this model", width),
                    .param = "dimensions",
                    .code = "integer_above_max_value"};
}

ApiResult<uint32_t> embed(ActiveRequest& active, EmbeddingCall call, const CancelPoll& is_cancelled,
                          const std::function<void(const generate::Embedding&)>& take) {
    constexpr int invalid_request = 400;
    std::size_t at = 0;
    active.show_priority(call.priority);
    const auto tokens = embed_inputs(active, call, is_cancelled, take, at);
    if (!tokens) {
        ApiError error = active.report_failure(tokens.error());
        if (error.status == invalid_request && !error.param) {
            error.param = call.is_list ? fmt::format("{}[{}]", call.input_member, at) : call.input_member;
            if (call.is_list) // some clients show the message only
                error.message = fmt::format("`{}`: {}", *error.param, error.message);
        }
        return error;
    }
    active.count_embedded(*tokens);
    active.services().metrics.add(active.model_name(), {.prompt = *tokens});
    return *tokens;
}

Json numbers_json(const std::vector<float>& values) {
    Json numbers = Json::array();
    for (const float value : values) {
        const std::string digits = fmt::format("{}", value);
        double number = 0;
        std::from_chars(digits.data(), digits.data() + digits.size(), number);
        numbers.push_back(number);
    }
    return numbers;
}

} // namespace etna::server::api
