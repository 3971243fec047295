#include "server/faces/openai/token_outputs.hpp"

#include "core/base/utf8.hpp"
#include "server/base/fields.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
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

Json tokens_json(std::span<const TokenId> tokens) {
    Json list = Json::array();
    for (const TokenId token : tokens)
        list.push_back(token);
    return list;
}

class TokenIdStream : public ChoiceStream {
public:
    TokenIdStream(std::unique_ptr<ChoiceStream> stream, std::span<const TokenId> prompt)
        : stream_(std::move(stream)), prompt_(tokens_json(prompt)) {}

    std::optional<Json> begin() override { return with_ids(stream_->begin()); }

    std::optional<Json> take(const generate::Event& event) override {
        if (const auto* token = std::get_if<generate::TokenDelta>(&event))
            ids_.push_back(token->chosen.token);
        return with_ids(stream_->take(event));
    }

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

} // namespace

TokenIdOptions read_token_id_options(Fields& fields) {
    return {.ids = fields.flag("return_token_ids").value_or(false),
            .ids_as_names = fields.flag("return_tokens_as_token_ids").value_or(false)};
}

bool needs_tokens(const TokenIdOptions& ids, const OutputOptions& output) {
    return ids.ids || output.counts_each_chunk || (output.has_timings && output.is_streamed);
}

void add_token_ids(GenerationRequest& request) {
    request.make_stream = [make_stream = std::move(request.make_stream)](uint32_t choice,
                                                                         std::span<const TokenId> prompt) {
        return std::make_unique<TokenIdStream>(make_stream(choice, prompt), prompt);
    };
    request.write_choice =
        [write_choice = std::move(request.write_choice)](uint32_t choice, std::span<const TokenId> prompt,
                                                         const generate::CollectedAnswer& answer) {
            Json json = write_choice(choice, prompt, answer);
            json[prompt_ids_member] = tokens_json(prompt);
            json[token_ids_member] = tokens_json(answer.tokens());
            return json;
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

private:
    std::unique_ptr<ChoiceStream> stream_;
    uint32_t top_;
    Json positions_ = Json::array();
};

} // namespace

std::optional<uint32_t> read_prompt_logprobs(Fields& fields) {
    const auto count = fields.integer(prompt_logprobs_member, 0, generate::logprobs_max);
    return count ? std::optional(static_cast<uint32_t>(*count)) : std::nullopt;
}

void add_prompt_logprobs(GenerationRequest& request, uint32_t top) {
    request.make_stream = [make_stream = std::move(request.make_stream),
                           top](uint32_t choice, std::span<const TokenId> prompt) {
        return std::make_unique<PromptLogprobStream>(make_stream(choice, prompt), top);
    };
    request.write_choice = [write_choice = std::move(request.write_choice),
                            top](uint32_t choice, std::span<const TokenId> prompt,
                                 const generate::CollectedAnswer& answer) {
        Json json = write_choice(choice, prompt, answer);
        Json& positions = json[prompt_logprobs_member] = nullptr;
        for (const generate::PromptTokenDelta& token : answer.prompt())
            positions.push_back(position_json(token, top));
        return json;
    };
}

void lift_prompt_logprobs(Json& answer) {
    lift(answer, prompt_logprobs_member);
}

} // namespace etna::server::openai
