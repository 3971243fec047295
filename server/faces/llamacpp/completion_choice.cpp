#include "server/faces/llamacpp/completion_choice.hpp"

#include "core/base/utf8.hpp"
#include "core/text/detokenizer.hpp"

#include <algorithm>
#include <utility>

namespace etna::server::llamacpp {
namespace {

constexpr int no_slot = -1; ///< reported as id_slot: etna has no slots

/// Returns {"id", "token", "bytes", "logprob"}.
Json token_json(const generate::TokenLogprob& token) {
    Json bytes = Json::array();
    for (const char byte : token.bytes)
        bytes.push_back(static_cast<unsigned char>(byte));
    const std::string_view valid = std::string_view(token.bytes).substr(0, valid_utf8_prefix(token.bytes));
    return {{"id", token.token}, {"token", valid}, {"bytes", std::move(bytes)}, {"logprob", token.logprob}};
}

/// Returns an object with the members at `paths`, keyed by path: {"a/b": value}. Omits paths that do not
/// exist.
Json selected(const Json& json, const std::vector<std::string>& paths) {
    Json result = Json::object();
    for (const std::string& path : paths) {
        const Json* at = &json;
        for (std::size_t begin = 0; at != nullptr && begin <= path.size();) {
            const std::size_t end = std::min(path.find('/', begin), path.size());
            const auto found = at->is_object() ? at->find(path.substr(begin, end - begin)) : at->end();
            at = at->is_object() && found != at->end() ? &*found : nullptr;
            begin = end + 1;
        }
        if (at != nullptr)
            result[path] = *at;
    }
    return result;
}

/// Whether tokens were dropped, or the answer ended because the context or its memory was full.
bool is_truncated(const generate::Finished& finished, const Json& settings) {
    if (finished.context_shifts > 0)
        return true;
    const auto limit = settings["n_predict"].get<int64_t>();
    const bool has_reached_limit = limit >= 0 && static_cast<int64_t>(finished.tokens.size()) >= limit;
    return finished.finish_reason == generate::FinishReason::length && !has_reached_limit;
}

} // namespace

CompletionChoice::CompletionChoice(const ChoiceContext& context, uint32_t index,
                                   std::span<const TokenId> prompt, Progress progress)
    : context_(&context), index_(index), prompt_(prompt), progress_(std::move(progress)),
      pending_(context.pending) {
    if (!context.output.is_streamed && context.output.has_probabilities)
        answer_ = generate::CollectedAnswer({.logprobs = context.pending});
}

std::optional<Json> CompletionChoice::take(const generate::Event& event) {
    clock_.take(event);
    answer_.take(event);
    if (std::holds_alternative<generate::TokenDelta>(event) && token_count() == 1)
        processed_ = progress_();
    const auto* text = std::get_if<generate::TextDelta>(&event);
    has_line_end_ = has_line_end_ || (text != nullptr && text->text.find('\n') != std::string::npos);
    return context_->output.is_streamed ? take_streamed(event) : std::nullopt;
}

std::optional<Json> CompletionChoice::take_streamed(const generate::Event& event) {
    if (const auto* token = std::get_if<generate::TokenDelta>(&event)) {
        pending_ids_.push_back(token->chosen.token);
        if (context_->output.has_probabilities)
            pending_.add(*token);
    } else if (const auto* tokens = std::get_if<generate::FinalTokens>(&event)) {
        pending_.add(*tokens);
    } else if (const auto* text = std::get_if<generate::TextDelta>(&event)) {
        return piece(text->text);
    } else if (std::holds_alternative<generate::Finished>(event)) {
        return last_piece();
    }
    return std::nullopt;
}

std::optional<Json> CompletionChoice::take_progress() {
    const auto progress = progress_();
    if (!context_->output.returns_progress || token_count() > 0 || !progress || progress == reported_)
        return std::nullopt;
    reported_ = progress;
    Json json = {{"index", index_},
                 {"content", ""},
                 {"tokens", Json::array()},
                 {"stop", false},
                 {"id_slot", no_slot},
                 {"tokens_predicted", token_count()},
                 {"tokens_evaluated", prompt_.size()}};
    json["prompt_progress"] = {{"total", prompt_.size()},
                               {"cache", progress->cached_tokens},
                               {"processed", progress->computed_tokens},
                               {"time_ms", static_cast<int64_t>(clock_.elapsed_ms())}};
    return json;
}

bool CompletionChoice::is_complete() const {
    const auto time_max = context_->output.generation_time_max;
    return time_max && has_line_end_ && clock_.generation_ms() > static_cast<double>(time_max->count());
}

Json CompletionChoice::piece(std::string_view text) {
    Json json = {{"index", index_},
                 {"content", text},
                 {"tokens", std::exchange(pending_ids_, {})},
                 {"stop", false},
                 {"id_slot", no_slot},
                 {"tokens_predicted", token_count()},
                 {"tokens_evaluated", prompt_.size()}};
    if (context_->output.has_timings)
        json["timings"] = api::timings_json(clock_.timings(processed_));
    add_probabilities(json, pending_.take_final());
    return json;
}

/// Emits tokens without text at the end of a stream, except those that a stop string removed.
std::optional<Json> CompletionChoice::last_piece() {
    const bool was_removed = stop_type() == "word";
    const auto last = pending_.take_final();
    if (was_removed || (pending_ids_.empty() && last.empty()))
        return std::nullopt;
    Json json = piece("");
    add_probabilities(json, last);
    return json;
}

void CompletionChoice::add_probabilities(Json& json,
                                         const std::vector<generate::EmittedToken>& tokens) const {
    if (context_->output.has_probabilities && !tokens.empty())
        json["completion_probabilities"] = probabilities(tokens);
}

Json CompletionChoice::probabilities(const std::vector<generate::EmittedToken>& tokens) const {
    Json list = Json::array();
    for (const auto& [token, characters] : tokens) {
        Json entry = token_json(token.chosen);
        entry["top_logprobs"] = Json::array();
        for (const generate::TokenLogprob& top : token.top)
            entry["top_logprobs"].push_back(token_json(top));
        list.push_back(std::move(entry));
    }
    return list;
}

std::string_view CompletionChoice::stop_type() const {
    if (answer_.finished()->finish_reason != generate::FinishReason::stop)
        return "limit";
    return answer_.finished()->matched.empty() ? "eos" : "word";
}

Json CompletionChoice::result() const {
    const bool is_streamed = context_->output.is_streamed;
    const generate::Finished& finished = *answer_.finished();
    const auto generated = static_cast<uint32_t>(finished.tokens.size()) + (stop_type() == "eos" ? 1 : 0);
    Json settings = context_->settings;
    settings["seed"] = finished.seed;
    api::AnswerTimings timings = api::timings_of(finished);
    timings.generated_tokens = generated;
    Json json = {{"index", index_},
                 {"content", is_streamed ? std::string() : answer_.text()},
                 {"tokens", Json::array()},
                 {"id_slot", no_slot},
                 {"stop", true},
                 {"model", context_->model},
                 {"tokens_predicted", generated},
                 {"tokens_evaluated", prompt_.size()},
                 {"generation_settings", std::move(settings)},
                 {"prompt", text::decode(*context_->tokenizer, prompt_,
                                         {.control = text::ControlTokens::shown,
                                          .position = text::TextPosition::continuation})},
                 {"has_new_line", has_line_end_},
                 {"truncated", is_truncated(finished, context_->settings)},
                 {"stop_type", stop_type()},
                 {"stopping_word", stop_type() == "word" ? finished.matched : std::string()},
                 {"tokens_cached", finished.cached_tokens},
                 {"timings", api::timings_json(timings)}};
    if (!is_streamed && context_->output.returns_tokens)
        json["tokens"] = finished.tokens;
    if (!is_streamed && context_->output.has_probabilities)
        json["completion_probabilities"] = probabilities(answer_.logprobs());
    return context_->output.fields.empty() ? json : selected(json, context_->output.fields);
}

} // namespace etna::server::llamacpp
