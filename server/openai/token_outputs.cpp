#include "server/openai/token_outputs.hpp"

#include "core/base/utf8.hpp"
#include "server/fields.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

/// The stop strings that are removed from the text; none if they are included in it.
std::vector<std::string> removed_stops(const generate::Request& request) {
    return request.matched_stop == generate::MatchedStop::excluded ? request.stop
                                                                   : std::vector<std::string>();
}

} // namespace

std::string token_id_name(TokenId token) {
    return fmt::format("token_id:{}", token);
}

PendingLogprobs::PendingLogprobs(const generate::Request& request, const text::Tokenizer& tokenizer,
                                 text::TextPosition position)
    : tokenizer_(&tokenizer), control_(request.control_tokens),
      hides_space_(tokenizer.strips_leading_space() && position == text::TextPosition::start),
      stops_(removed_stops(request)), matcher_(stops_), exempt_tokens_(request.min_tokens) {}

/// The visible text of a token.
std::string_view PendingLogprobs::visible_text(const generate::TokenLogprob& token) {
    const auto is_control = [&](text::TokenType type) {
        return type == text::TokenType::control || type == text::TokenType::unknown;
    };
    const bool is_hidden = tokenizer_ != nullptr && control_ == text::ControlTokens::hidden &&
                           is_control(tokenizer_->type(token.token));
    std::string_view bytes = is_hidden ? std::string_view() : token.bytes;
    if (hides_space_ && !bytes.empty()) {
        hides_space_ = false;
        bytes.remove_prefix(bytes.front() == ' ' ? 1 : 0);
    }
    return bytes;
}

void PendingLogprobs::add(generate::TokenDelta token) {
    const std::string_view bytes = visible_text(token.chosen);
    const std::size_t begin = bytes_;
    const std::size_t characters = characters_in(bytes);
    bytes_ += bytes.size();
    final_bytes_ = exempt_tokens_ > 0 ? bytes_ : final_bytes_ + matcher_.push(bytes).size();
    exempt_tokens_ -= exempt_tokens_ > 0 ? 1 : 0;
    waiting_.push_back(
        {.token = {.token = std::move(token), .characters = characters}, .begin = begin, .end = bytes_});
}

/// A token without visible text cannot be removed by a stop string, and is released with the preceding token.
std::vector<EmittedToken> PendingLogprobs::take_final() {
    const auto end = std::find_if(waiting_.begin(), waiting_.end(), [&](const Waiting& waiting) {
        return waiting.begin >= final_bytes_ && waiting.end > final_bytes_;
    });
    std::vector<EmittedToken> emitted;
    std::transform(waiting_.begin(), end, std::back_inserter(emitted),
                   [](Waiting& waiting) { return std::move(waiting.token); });
    waiting_.erase(waiting_.begin(), end);
    return emitted;
}

std::vector<EmittedToken> PendingLogprobs::take_last(const generate::Finished& finished,
                                                     std::string_view stop) {
    const auto matched = matcher_.matched();
    const bool has_removed_text = finished.finish_reason == generate::FinishReason::stop && matched &&
                                  stops_[*matched] == finished.matched;
    if (!has_removed_text)
        final_bytes_ = bytes_;
    std::vector<EmittedToken> emitted = take_final();
    if (!stop.empty() && finished.end_token)
        emitted.push_back({.token = *finished.end_token, .characters = characters_in(stop)});
    return emitted;
}

std::vector<std::string> included_stops(const generate::Request& request, const text::Tokenizer& tokenizer) {
    std::vector<std::string> stops;
    if (request.matched_stop == generate::MatchedStop::excluded)
        return stops;
    for (const TokenId token : request.stop_tokens) {
        const bool is_hidden = tokenizer.type(token) == text::TokenType::control &&
                               request.control_tokens == text::ControlTokens::hidden;
        std::string text(tokenizer.bytes(token));
        const bool is_string = // reported with the text
            std::find(request.stop.begin(), request.stop.end(), text) != request.stop.end();
        if (!is_hidden && !is_string)
            stops.push_back(std::move(text));
    }
    return stops;
}

std::string included_stop(const std::vector<std::string>& stops, const generate::Finished& finished) {
    const bool is_included = finished.finish_reason == generate::FinishReason::stop &&
                             std::find(stops.begin(), stops.end(), finished.matched) != stops.end();
    return is_included ? repaired_utf8(finished.matched) : std::string();
}

void lift(Json& answer, const char* member) {
    std::optional<Json> lifted; // inserted last: adding a member may relocate the choices
    for (Json& choice : answer["choices"]) {
        const auto found = choice.find(member);
        if (found == choice.end())
            continue;
        lifted = std::move(*found);
        choice.erase(found);
    }
    if (lifted)
        answer[member] = std::move(*lifted);
}

namespace {

constexpr const char* token_ids_member = "token_ids";
constexpr const char* prompt_ids_member = "prompt_token_ids";

class TokenIdStream : public ChoiceStream {
public:
    TokenIdStream(std::unique_ptr<ChoiceStream> stream, std::span<const TokenId> prompt)
        : stream_(std::move(stream)), prompt_(Json::array()) {
        for (const TokenId token : prompt)
            prompt_->push_back(token);
    }

    std::optional<Json> begin() override { return with_ids(stream_->begin()); }

    std::optional<Json> take(const generate::Event& event) override {
        if (const auto* token = std::get_if<generate::TokenDelta>(&event))
            ids_.push_back(token->chosen.token);
        return with_ids(stream_->take(event));
    }

    [[nodiscard]] bool is_complete() const override { return stream_->is_complete(); }

private:
    std::optional<Json> with_ids(std::optional<Json> piece) {
        if (!piece)
            return piece;
        if (prompt_)
            (*piece)[prompt_ids_member] = *std::exchange(prompt_, std::nullopt);
        (*piece)[token_ids_member] = std::exchange(ids_, Json::array());
        return piece;
    }

    std::unique_ptr<ChoiceStream> stream_;
    std::optional<Json> prompt_; ///< until it has been sent
    Json ids_ = Json::array();
};

class TokenIdAggregator : public ChoiceAggregator {
public:
    explicit TokenIdAggregator(std::unique_ptr<ChoiceAggregator> choice) : choice_(std::move(choice)) {}

    void add(const Json& piece) override {
        choice_->add(piece);
        if (const auto prompt = piece.find(prompt_ids_member); prompt != piece.end())
            prompt_ = *prompt;
        for (const Json& token : piece[token_ids_member])
            ids_.push_back(token);
    }

    [[nodiscard]] Json result() const override {
        Json choice = choice_->result();
        choice[prompt_ids_member] = prompt_;
        choice[token_ids_member] = ids_;
        return choice;
    }

private:
    std::unique_ptr<ChoiceAggregator> choice_;
    Json prompt_ = nullptr;
    Json ids_ = Json::array();
};

} // namespace

TokenIdOptions read_token_id_options(Fields& fields) {
    return {.ids = fields.flag("return_token_ids").value_or(false),
            .ids_as_names = fields.flag("return_tokens_as_token_ids").value_or(false)};
}

bool needs_tokens(const TokenIdOptions& ids, const OutputOptions& output) {
    return ids.ids || output.counts_each_chunk;
}

void add_token_ids(GenerationCall& call) {
    call.make_stream = [make_stream = std::move(call.make_stream)](uint32_t choice,
                                                                   std::span<const TokenId> prompt) {
        return std::make_unique<TokenIdStream>(make_stream(choice, prompt), prompt);
    };
    call.make_aggregator = [make_aggregator = std::move(call.make_aggregator)] {
        return std::make_unique<TokenIdAggregator>(make_aggregator());
    };
}

void lift_prompt_token_ids(Json& answer) {
    lift(answer, prompt_ids_member);
}

namespace {

constexpr const char* prompt_logprobs_member = "prompt_logprobs";

/// Represents minus infinity, which JSON lacks. Source: vLLM.
constexpr double logprob_min = -9999;

void add_token(Json& position, const generate::TokenLogprob& token, std::size_t rank) {
    position[fmt::format("{}", token.token)] = {
        {"logprob", std::max(token.logprob, logprob_min)}, {"rank", rank}, {"decoded_token", token.bytes}};
}

Json position_json(const generate::PromptTokenDelta& token, uint32_t top) {
    if (!token.likelihood)
        return nullptr;
    Json position = Json::object();
    const auto& likeliest = token.likelihood->top;
    for (std::size_t i = 0; i < std::min<std::size_t>(top, likeliest.size()); ++i)
        add_token(position, likeliest[i], i + 1);
    add_token(position, token.likelihood->chosen, token.rank);
    return position;
}

class PromptLogprobStream : public ChoiceStream {
public:
    PromptLogprobStream(std::unique_ptr<ChoiceStream> stream, uint32_t top)
        : stream_(std::move(stream)), top_(top) {}

    std::optional<Json> begin() override { return stream_->begin(); }

    std::optional<Json> take(const generate::Event& event) override {
        auto piece = stream_->take(event);
        if (const auto* token = std::get_if<generate::PromptTokenDelta>(&event)) {
            positions_.push_back(position_json(*token, top_));
        } else if (piece && !positions_.empty()) {
            (*piece)[prompt_logprobs_member] = std::exchange(positions_, Json::array());
        }
        return piece;
    }

    [[nodiscard]] bool is_complete() const override { return stream_->is_complete(); }

private:
    std::unique_ptr<ChoiceStream> stream_;
    uint32_t top_;
    Json positions_ = Json::array();
};

class PromptLogprobAggregator : public ChoiceAggregator {
public:
    explicit PromptLogprobAggregator(std::unique_ptr<ChoiceAggregator> choice) : choice_(std::move(choice)) {}

    void add(const Json& piece) override {
        choice_->add(piece);
        if (const auto found = piece.find(prompt_logprobs_member); found != piece.end())
            positions_ = *found;
    }

    [[nodiscard]] Json result() const override {
        Json choice = choice_->result();
        choice[prompt_logprobs_member] = positions_;
        return choice;
    }

private:
    std::unique_ptr<ChoiceAggregator> choice_;
    Json positions_ = nullptr;
};

} // namespace

std::optional<uint32_t> read_prompt_logprobs(Fields& fields) {
    const auto count = fields.integer(prompt_logprobs_member, 0, generate::logprobs_max);
    return count ? std::optional(static_cast<uint32_t>(*count)) : std::nullopt;
}

void add_prompt_logprobs(GenerationCall& call, uint32_t top) {
    call.make_stream = [make_stream = std::move(call.make_stream), top](uint32_t choice,
                                                                        std::span<const TokenId> prompt) {
        return std::make_unique<PromptLogprobStream>(make_stream(choice, prompt), top);
    };
    call.make_aggregator = [make_aggregator = std::move(call.make_aggregator)] {
        return std::make_unique<PromptLogprobAggregator>(make_aggregator());
    };
}

void lift_prompt_logprobs(Json& answer) {
    lift(answer, prompt_logprobs_member);
}

} // namespace etna::server::openai
