#include "server/openai/token_telling.hpp"

#include <memory>
#include <optional>
#include <utility>

namespace etna::server::openai {
namespace {

constexpr const char* own_member = "token_ids";
constexpr const char* prompt_member = "prompt_token_ids";

class IdTellingWriter : public ChoiceWriter {
public:
    IdTellingWriter(std::unique_ptr<ChoiceWriter> writer, std::span<const TokenId> prompt)
        : writer_(std::move(writer)), prompt_(Json::array()) {
        for (const TokenId token : prompt)
            prompt_->push_back(token);
    }

    std::optional<Json> begin() override { return with_ids(writer_->begin()); }

    std::optional<Json> take(const generate::Event& event) override {
        if (const auto* token = std::get_if<generate::TokenDelta>(&event))
            ids_.push_back(token->chosen.token);
        return with_ids(writer_->take(event));
    }

    [[nodiscard]] bool has_enough() const override { return writer_->has_enough(); }

private:
    std::optional<Json> with_ids(std::optional<Json> piece) {
        if (!piece)
            return piece;
        if (prompt_)
            (*piece)[prompt_member] = *std::exchange(prompt_, std::nullopt);
        (*piece)[own_member] = std::exchange(ids_, Json::array());
        return piece;
    }

    std::unique_ptr<ChoiceWriter> writer_;
    std::optional<Json> prompt_; ///< until it has been sent
    Json ids_ = Json::array();
};

class IdTellingChoice : public WholeChoice {
public:
    explicit IdTellingChoice(std::unique_ptr<WholeChoice> choice) : choice_(std::move(choice)) {}

    void add(const Json& piece) override {
        choice_->add(piece);
        if (const auto prompt = piece.find(prompt_member); prompt != piece.end())
            prompt_ = *prompt;
        for (const Json& token : piece[own_member])
            ids_.push_back(token);
    }

    [[nodiscard]] Json result() const override {
        Json choice = choice_->result();
        choice[prompt_member] = prompt_;
        choice[own_member] = ids_;
        return choice;
    }

private:
    std::unique_ptr<WholeChoice> choice_;
    Json prompt_ = nullptr;
    Json ids_ = Json::array();
};

} // namespace

TokenWishes read_token_wishes(Fields& fields) {
    return {.ids = fields.flag("return_token_ids").value_or(false),
            .ids_as_names = fields.flag("return_tokens_as_token_ids").value_or(false)};
}

bool needs_tokens(const TokenWishes& overrides, const Delivery& delivery) {
    return overrides.ids || delivery.counts_each_chunk;
}

void tell_token_ids(GenerationCall& call) {
    call.writer = [writer = std::move(call.writer)](uint32_t choice, std::span<const TokenId> prompt) {
        return std::make_unique<IdTellingWriter>(writer(choice, prompt), prompt);
    };
    call.whole = [whole = std::move(call.whole)] { return std::make_unique<IdTellingChoice>(whole()); };
}

void lift_prompt_token_ids(Json& answer) {
    lift(answer, prompt_member);
}

} // namespace etna::server::openai
