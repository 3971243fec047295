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
Json logprobs_json(const std::vector<generate::EmittedToken>& tokens, TokenNames names = TokenNames::text);

/// Output options of a chat completion.
struct ChatOptions {
    bool includes_logprobs = false;
    TokenNames token_names = TokenNames::text;
    std::set<std::string> custom_tools = {}; ///< names of tools that take text input instead of arguments
};

/// Deltas: {"index", "delta", "finish_reason"[, "logprobs"]}.
class ChatChoiceStream : public ChoiceStream {
public:
    ChatChoiceStream(uint32_t index, ChatOptions options, generate::PendingLogprobs pending)
        : index_(index), options_(std::move(options)), pending_(std::move(pending)) {}

    /// Returns the piece with the role.
    std::optional<Json> begin() override;
    std::optional<Json> take(const generate::Event& event) override;

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
    generate::PendingLogprobs pending_;
    struct StartedCall {
        std::size_t call = 0;             ///< the parser's call index
        std::optional<CustomInput> input; ///< input of a custom tool
        bool is_done = false;
    };
    std::vector<StartedCall> calls_; ///< by the client's call index
    std::size_t calls_done_ = 0;
};

/// Returns a whole choice: {"index", "message", "logprobs", "finish_reason"}. Precondition: the answer is
/// finished.
Json chat_choice_json(uint32_t index, const ChatOptions& options, const generate::CollectedAnswer& answer);

} // namespace etna::server::openai
