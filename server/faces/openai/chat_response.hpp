#pragma once

#include "server/api/custom_input.hpp"
#include "server/faces/openai/token_outputs.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace etna::server::openai {

/// Returns the logprobs object of a chat completion: {"content": [...], "refusal": null}.
Json logprobs_json(const std::vector<api::EmittedToken>& tokens, TokenNames names = TokenNames::text);

/// Output options of a chat completion.
struct ChatOptions {
    bool includes_logprobs = false;
    TokenNames token_names = TokenNames::text;
    bool has_parallel_calls = true;          ///< false: an answer ends after its first call
    std::set<std::string> custom_tools = {}; ///< names of tools that take text input instead of arguments
};

/// Deltas: {"index", "delta", "finish_reason"[, "logprobs"]}.
class ChatChoiceStream : public ChoiceStream {
public:
    ChatChoiceStream(uint32_t index, ChatOptions options, api::PendingLogprobs pending)
        : index_(index), options_(std::move(options)), pending_(std::move(pending)) {}

    /// Returns the piece with the role.
    std::optional<Json> begin() override;
    std::optional<Json> take(const generate::Event& event) override;
    [[nodiscard]] bool is_complete() const override {
        return !options_.has_parallel_calls && calls_done_ > 0;
    }

private:
    Json choice(Json delta);
    Json end(const generate::Finished& finished);
    std::optional<Json> take_output(const output::Event& event);
    Json begin_call(const output::Event& event);
    std::optional<Json> add_arguments(std::size_t index, const std::string& arguments);
    std::optional<Json> end_call(std::size_t index);
    [[nodiscard]] Json ends_of_truncated_inputs() const;

    uint32_t index_;
    ChatOptions options_;
    api::PendingLogprobs pending_;
    struct StartedCall {
        std::size_t call = 0;             ///< the parser's call index
        std::optional<CustomInput> input; ///< input of a custom tool
        bool is_done = false;
    };
    std::vector<StartedCall> calls_; ///< by the client's call index
    std::size_t calls_done_ = 0;
};

/// {"index", "message", "logprobs", "finish_reason"}. The input of a custom call has no terminator: it is
/// complete once an empty piece has ended it.
class ChatAggregator : public ChoiceAggregator {
public:
    void add(const Json& piece) override;
    [[nodiscard]] Json result() const override;

private:
    void add_call(const Json& call);
    [[nodiscard]] bool is_complete_call(std::size_t call) const;
    [[nodiscard]] Json calls() const;

    Json index_ = 0;
    Json finish_reason_ = "stop";
    std::optional<std::string> content_;
    std::string reasoning_;
    Json calls_ = Json::array();
    bool ends_in_call_ = false;          ///< the last piece with a delta was part of a call
    std::set<std::size_t> ended_inputs_; ///< custom calls whose input is complete
    Json logprobs_ = nullptr;
};

} // namespace etna::server::openai
