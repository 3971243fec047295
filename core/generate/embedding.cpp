#include "core/generate/embedding.hpp"

#include "core/text/tokenizer.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace etna::generate {
namespace {

/// Texts in flight per sequence of a batch: one runs while the next is queued.
constexpr std::size_t texts_per_sequence = 2;

engine::HiddenRows rows_of(Pooling pooling, bool is_encoder) {
    switch (pooling) {
    case Pooling::rank:
        return is_encoder ? engine::HiddenRows::first : engine::HiddenRows::last;
    case Pooling::mean:
        return engine::HiddenRows::mean;
    case Pooling::cls:
        return engine::HiddenRows::first;
    case Pooling::last:
        break;
    }
    return engine::HiddenRows::last;
}

Result<std::vector<TokenId>> tokens_of(const Model& model, const EmbeddingRequest& request,
                                       const PromptBudget& budget) {
    if (const auto* tokens = std::get_if<std::vector<TokenId>>(&request.input))
        return *tokens;
    return model.file().tokenizer.encode(std::get<std::string>(request.input),
                                         {.special = request.special,
                                          .is_cancelled = budget.is_cancelled,
                                          .reserve_memory = &budget.reserve_memory});
}

/// Truncates a text, but retains a control token at its end: encoders need theirs.
void truncate(std::vector<TokenId>& tokens, std::size_t tokens_max, const text::Tokenizer& tokenizer) {
    if (tokens.size() <= tokens_max || tokens_max == 0)
        return;
    const TokenId last = tokens.back();
    tokens.resize(tokens_max);
    if (tokenizer.type(last) == text::TokenType::control)
        tokens.back() = last;
}

Error cancelled() {
    return {ErrorKind::cancelled, "the request was cancelled"};
}

/// Returns the last event of a text; empty if `is_cancelled` ends the wait.
std::optional<engine::Finished> wait_for(engine::Stream& stream, const CancelPoll& is_cancelled) {
    while (!is_cancelled || !is_cancelled()) {
        auto event = stream.next_for(cancel_poll_interval);
        if (!event)
            continue;
        if (auto* const finished = std::get_if<engine::Finished>(&*event))
            return std::move(*finished);
    }
    return std::nullopt;
}

} // namespace

uint32_t embedding_tokens_max(const Model& model) {
    return embedding_tokens_max(model.engine().limits());
}

uint32_t embedding_tokens_max(const engine::Limits& limits) {
    return limits.is_encoder ? std::min(limits.context_tokens, engine::whole_segment_max(limits))
                             : limits.context_tokens;
}

engine::Request hidden_request(std::vector<TokenId> tokens, Pooling pooling, const engine::Limits& limits) {
    return {.prompt = std::move(tokens),
            .hidden = rows_of(pooling, limits.is_encoder),
            .attention = limits.is_encoder ? engine::AttentionSpan::segment : engine::AttentionSpan::causal};
}

uint32_t embedding_dimensions(const Model& model) {
    return model.file().embedding_head.outputs(model.engine().limits().width);
}

Embedder::Embedder(const Model& model)
    : model_(&model), texts_max_(texts_per_sequence * model.engine().limits().sequences_max) {}

Status Embedder::add(const EmbeddingRequest& request, const PromptBudget& budget) {
    const engine::Limits& limits = model_->engine().limits();
    const Pooling pooling = request.pooling.value_or(model_->defaults().pooling);
    const bool has_head = pooling == model_->defaults().pooling;
    if (pooling == Pooling::rank && !has_head) {
        return Error{ErrorKind::invalid_argument, "the model has no head that ranks texts",
                     "choose another pooling, or a reranker"};
    }
    const uint32_t width = has_head ? embedding_dimensions(*model_) : limits.width;
    const uint32_t dimensions = request.dimensions.value_or(width);
    if (dimensions == 0 || dimensions > width) {
        return Error{ErrorKind::invalid_argument,
                     fmt::format("{} dimensions; the model has {}", dimensions, width),
                     fmt::format("use 1 to {}", width)};
    }
    ETNA_TRY(std::vector<TokenId> tokens, tokens_of(*model_, request, budget));
    if (tokens.empty()) {
        return Error{ErrorKind::invalid_argument, "the text is empty, and the model adds no tokens to it",
                     "give at least one character"};
    }
    const uint32_t tokens_max = embedding_tokens_max(*model_);
    if (request.overlong == Overlong::truncate)
        truncate(tokens, tokens_max, model_->file().tokenizer);
    if (tokens.size() > tokens_max) {
        return Error{
            ErrorKind::context_exceeded,
            fmt::format("the text has {} tokens; the longest that fits has {}", tokens.size(), tokens_max),
            "split the text, or raise --ctx-size if the model was trained for more"};
    }
    engine::Request one = hidden_request(std::move(tokens), pooling, limits);
    one.cache_salt = request.cache_salt;
    one.client = request.client;
    one.priority = request.priority;
    ETNA_CHECK(check(one, limits));
    texts_.push_back({.request = std::move(one),
                      .stream = {},
                      .dimensions = dimensions,
                      .normalisation = pooling == Pooling::rank ? Normalisation::none : request.normalisation,
                      .has_head = has_head});
    return submit();
}

/// Submits texts while the engine accepts them. Errors: those of Engine::submit(); busy only if none of this
/// object's texts is in the engine.
Status Embedder::submit() {
    for (; submitted_ < std::min(texts_.size(), texts_max_); ++submitted_) {
        Text& next = texts_[submitted_];
        auto stream = model_->engine().submit(next.request);
        if (!stream && stream.error().kind == ErrorKind::busy && submitted_ > 0)
            return {};
        if (!stream)
            return stream.error();
        next.stream.emplace(std::move(stream).value());
        next.request = {};
    }
    return {};
}

Result<Embedding> Embedder::next(const CancelPoll& is_cancelled) {
    ETNA_CHECK(submit());
    Text text = std::move(texts_.front());
    texts_.pop_front();
    --submitted_;
    auto finished = wait_for(*text.stream, is_cancelled);
    if (!finished)
        return cancelled();
    if (finished->error)
        return *finished->error;
    if (finished->reason == engine::FinishReason::cancelled)
        return cancelled();
    if (finished->reason != engine::FinishReason::stop) {
        return Error{ErrorKind::out_of_memory,
                     fmt::format("the cache has no room for a text of {} tokens", finished->prompt_tokens),
                     "shorten the text, or give the cache more memory"};
    }
    Embedding embedding{.values = std::move(finished->hidden), .tokens = finished->prompt_tokens};
    if (text.has_head)
        embedding.values = model_->file().embedding_head.apply(std::move(embedding.values));
    embedding.values.resize(text.dimensions);
    if (text.normalisation == Normalisation::l2)
        normalise(embedding.values);
    return embedding;
}

} // namespace etna::generate
