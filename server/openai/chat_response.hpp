#pragma once

#include "core/generate/generation.hpp"
#include "server/json.hpp"
#include "server/openai/chat_request.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etna::server::openai {

/// Counts of a request, over all of its choices.
struct Usage {
    uint32_t prompt_tokens = 0;
    uint32_t cached_tokens = 0;
    uint32_t completion_tokens = 0;

    void add(const generate::Finished& finished);
};

Json to_json(const Usage& usage);

/// What stands in every object of one answer.
struct AnswerHead {
    std::string id; ///< "chatcmpl-..."
    std::string object;
    int64_t created_unix_s = 0;
    std::string model;
};

/// {"id", "object", "created", "model", "system_fingerprint", "choices": []}.
Json to_json(const AnswerHead& head);

/// The log-probabilities of tokens as chat completions have them: {"content": [...], "refusal": null}.
Json logprobs_json(const std::vector<generate::TokenDelta>& tokens);

/// Turns the events of one choice into the deltas of a stream. Each is a whole choice: {"index", "delta",
/// "finish_reason"[, "logprobs"]}. Not thread-safe.
class ChatChoice {
public:
    ChatChoice(uint32_t index, bool tells_logprobs) : index_(index), tells_logprobs_(tells_logprobs) {}

    /// The first delta: the role.
    Json begin();

    /// What the event adds, if anything.
    std::optional<Json> take(const generate::Event& event);

    /// Whole calls so far.
    [[nodiscard]] std::size_t calls_done() const { return calls_done_; }

private:
    Json choice(Json delta);
    std::optional<Json> take_output(const chat::output::Event& event);

    uint32_t index_;
    bool tells_logprobs_;
    std::vector<generate::TokenDelta> untold_; ///< tokens whose text has not come yet
    std::vector<std::size_t> begun_; ///< calls by the parser's count; its place is the client's count
    std::size_t calls_done_ = 0;
};

/// Adds deltas up to what a client gets that asked for no stream: one way for both.
class ChatMessage {
public:
    void add(const Json& choice);

    /// {"index", "message", "logprobs", "finish_reason"}.
    [[nodiscard]] Json result() const;

private:
    Json index_ = 0;
    Json finish_reason_ = "stop";
    std::optional<std::string> content_;
    std::string reasoning_;
    Json calls_ = Json::array();
    Json logprobs_ = nullptr;
};

} // namespace etna::server::openai
