#pragma once

#include "server/openai/generation_call.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace etna::server::openai {

/// The log-probabilities of tokens as chat completions have them: {"content": [...], "refusal": null}.
Json logprobs_json(const std::vector<generate::TokenDelta>& tokens);

/// How a chat's answers are told.
struct ChatForm {
    bool tells_logprobs = false;
    bool has_parallel_calls = true;           ///< false: an answer ends after its first call
    std::vector<std::string> told_stops = {}; ///< see told_stops()
};

/// Deltas: {"index", "delta", "finish_reason"[, "logprobs"]}.
class ChatChoice : public ChoiceWriter {
public:
    ChatChoice(uint32_t index, ChatForm form) : index_(index), form_(std::move(form)) {}

    /// The role.
    std::optional<Json> begin() override;
    std::optional<Json> take(const generate::Event& event) override;
    [[nodiscard]] bool has_enough() const override { return !form_.has_parallel_calls && calls_done_ > 0; }

private:
    Json choice(Json delta);
    std::optional<Json> take_output(const chat::output::Event& event);

    uint32_t index_;
    ChatForm form_;
    std::vector<generate::TokenDelta> untold_; ///< tokens whose text has not come yet
    std::vector<std::size_t> begun_; ///< calls by the parser's count; its place is the client's count
    std::size_t calls_done_ = 0;
};

/// {"index", "message", "logprobs", "finish_reason"}.
class ChatMessage : public WholeChoice {
public:
    void add(const Json& piece) override;
    [[nodiscard]] Json result() const override;

private:
    [[nodiscard]] Json whole_calls() const;

    Json index_ = 0;
    Json finish_reason_ = "stop";
    std::optional<std::string> content_;
    std::string reasoning_;
    Json calls_ = Json::array();
    Json logprobs_ = nullptr;
};

} // namespace etna::server::openai
