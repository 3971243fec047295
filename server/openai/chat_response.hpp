#pragma once

#include "server/custom_input.hpp"
#include "server/openai/generation_call.hpp"
#include "server/openai/untold_tokens.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace etna::server::openai {

/// The logprobs object of a chat completion: {"content": [...], "refusal": null}.
Json logprobs_json(const std::vector<ToldToken>& tokens, TokenNames names = TokenNames::text);

/// Output options of a chat completion.
struct ChatForm {
    bool tells_logprobs = false;
    TokenNames token_names = TokenNames::text;
    bool has_parallel_calls = true;           ///< false: an answer ends after its first call
    std::vector<std::string> told_stops = {}; ///< see told_stops()
    std::set<std::string> custom_tools = {};  ///< names of tools that take text input instead of arguments
};

/// Deltas: {"index", "delta", "finish_reason"[, "logprobs"]}.
class ChatChoice : public ChoiceWriter {
public:
    ChatChoice(uint32_t index, ChatForm form, UntoldTokens untold)
        : index_(index), form_(std::move(form)), untold_(std::move(untold)) {}

    /// The piece with the role.
    std::optional<Json> begin() override;
    std::optional<Json> take(const generate::Event& event) override;
    [[nodiscard]] bool has_enough() const override { return !form_.has_parallel_calls && calls_done_ > 0; }

private:
    Json choice(Json delta);
    Json choice(Json delta, const std::vector<ToldToken>& tokens) const;
    Json end(const generate::Finished& finished);
    std::optional<Json> take_output(const output::Event& event);
    Json begin_call(const output::Event& event);
    std::optional<Json> add_arguments(std::size_t index, const std::string& arguments);
    std::optional<Json> end_call(std::size_t index);
    [[nodiscard]] Json ends_of_cut_inputs() const;

    uint32_t index_;
    ChatForm form_;
    UntoldTokens untold_;
    struct Begun {
        std::size_t call = 0;             ///< the parser's call index
        std::optional<CustomInput> input; ///< input of a custom tool
        bool is_done = false;
    };
    std::vector<Begun> begun_; ///< by the client's call index
    std::size_t calls_done_ = 0;
};

/// {"index", "message", "logprobs", "finish_reason"}. A custom call's input has no terminator of its own: it
/// is complete once an empty piece has ended it.
class ChatMessage : public WholeChoice {
public:
    void add(const Json& piece) override;
    [[nodiscard]] Json result() const override;

private:
    void add_call(const Json& call);
    [[nodiscard]] bool is_whole(std::size_t call) const;
    [[nodiscard]] Json whole_calls() const;

    Json index_ = 0;
    Json finish_reason_ = "stop";
    std::optional<std::string> content_;
    std::string reasoning_;
    Json calls_ = Json::array();
    std::set<std::size_t> ended_inputs_; ///< custom calls whose input is complete
    Json logprobs_ = nullptr;
};

} // namespace etna::server::openai
