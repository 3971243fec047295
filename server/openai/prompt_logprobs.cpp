#include "server/openai/prompt_logprobs.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace etna::server::openai {
namespace {

constexpr const char* member = "prompt_logprobs";

/// Represents minus infinity, which JSON lacks. Source: vLLM.
constexpr double impossible = -9999;

void add(Json& place, const generate::TokenLogprob& token, std::size_t rank) {
    place[fmt::format("{}", token.token)] = {
        {"logprob", std::max(token.logprob, impossible)}, {"rank", rank}, {"decoded_token", token.bytes}};
}

Json told(const generate::PromptTokenDelta& token, uint32_t top) {
    if (!token.likelihood)
        return nullptr;
    Json place = Json::object();
    const auto& likeliest = token.likelihood->top;
    for (std::size_t i = 0; i < std::min<std::size_t>(top, likeliest.size()); ++i)
        add(place, likeliest[i], i + 1);
    add(place, token.likelihood->chosen, token.rank);
    return place;
}

class PromptTellingWriter : public ChoiceWriter {
public:
    PromptTellingWriter(std::unique_ptr<ChoiceWriter> writer, uint32_t top)
        : writer_(std::move(writer)), top_(top) {}

    std::optional<Json> begin() override { return writer_->begin(); }

    std::optional<Json> take(const generate::Event& event) override {
        auto piece = writer_->take(event);
        if (const auto* token = std::get_if<generate::PromptTokenDelta>(&event)) {
            places_.push_back(told(*token, top_));
        } else if (piece && !places_.empty()) {
            (*piece)[member] = std::exchange(places_, Json::array());
        }
        return piece;
    }

    [[nodiscard]] bool has_enough() const override { return writer_->has_enough(); }

private:
    std::unique_ptr<ChoiceWriter> writer_;
    uint32_t top_;
    Json places_ = Json::array();
};

class PromptTellingChoice : public WholeChoice {
public:
    explicit PromptTellingChoice(std::unique_ptr<WholeChoice> choice) : choice_(std::move(choice)) {}

    void add(const Json& piece) override {
        choice_->add(piece);
        if (const auto found = piece.find(member); found != piece.end())
            places_ = *found;
    }

    [[nodiscard]] Json result() const override {
        Json choice = choice_->result();
        choice[member] = places_;
        return choice;
    }

private:
    std::unique_ptr<WholeChoice> choice_;
    Json places_ = nullptr;
};

} // namespace

std::optional<uint32_t> read_prompt_logprobs(Fields& fields) {
    const auto count = fields.integer(member, 0, generate::logprobs_max);
    return count ? std::optional(static_cast<uint32_t>(*count)) : std::nullopt;
}

void tell_prompt_logprobs(GenerationCall& call, uint32_t top) {
    call.writer = [writer = std::move(call.writer), top](uint32_t choice, std::span<const TokenId> prompt) {
        return std::make_unique<PromptTellingWriter>(writer(choice, prompt), top);
    };
    call.whole = [whole = std::move(call.whole)] { return std::make_unique<PromptTellingChoice>(whole()); };
}

void lift_prompt_logprobs(Json& answer) {
    lift(answer, member);
}

} // namespace etna::server::openai
