#pragma once

#include "core/base/token.hpp"
#include "core/generate/events.hpp"
#include "core/generate/pending_logprobs.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::generate {

enum class PartKind : uint8_t {
    text,
    reasoning,
    open_call,     ///< its arguments are still arriving, or the answer ended within them
    complete_call, ///< its arguments are a JSON object
    broken_call,   ///< not a call after all: the model's own text of it follows as text
};

/// A stretch of an answer.
struct AnswerPart {
    PartKind kind = PartKind::text;
    std::string text = {}; ///< of a call: its arguments as JSON
    std::string name = {}; ///< of a call
    std::string id = {};   ///< of a call; empty if the model has given none
};

/// Collects the events of one choice, in the order in which a stream delivers them: text that proves to be
/// reasoning stays text, which Finished::output corrects. Not thread-safe.
class CollectedAnswer {
public:
    /// What is kept besides parts and tokens.
    struct Options {
        std::optional<PendingLogprobs> logprobs = {}; ///< state before the first token; empty: none
        bool keeps_prompt = false;
    };

    CollectedAnswer() = default;
    explicit CollectedAnswer(Options options)
        : pending_(std::move(options.logprobs)), keeps_prompt_(options.keeps_prompt) {}

    void take(const Event& event);

    /// Adjacent parts differ in kind, unless they are calls.
    [[nodiscard]] const std::vector<AnswerPart>& parts() const { return parts_; }

    /// Returns all text, and all reasoning.
    [[nodiscard]] std::string text() const { return joined(PartKind::text); }
    [[nodiscard]] std::string reasoning() const { return joined(PartKind::reasoning); }

    /// Returns the number of complete calls.
    [[nodiscard]] std::size_t complete_calls() const { return complete_calls_; }

    /// Returns the tokens that were delivered one by one, those of removed text included.
    [[nodiscard]] const std::vector<TokenId>& tokens() const { return tokens_; }

    /// Returns the tokens with their logprobs whose text is final; empty unless they are kept.
    [[nodiscard]] const std::vector<EmittedToken>& logprobs() const { return logprobs_; }

    /// Returns the prompt's tokens; empty unless they are kept.
    [[nodiscard]] const std::vector<PromptTokenDelta>& prompt() const { return prompt_; }

    /// Returns the last event; empty before it.
    [[nodiscard]] const std::optional<Finished>& finished() const { return finished_; }

private:
    void take_output(const output::Event& event);
    void add(PartKind kind, std::string_view text);
    void take_final_logprobs();
    [[nodiscard]] std::string joined(PartKind kind) const;

    std::optional<PendingLogprobs> pending_;
    bool keeps_prompt_ = false;
    std::vector<AnswerPart> parts_;
    std::size_t complete_calls_ = 0;
    std::vector<TokenId> tokens_;
    std::vector<EmittedToken> logprobs_;
    std::vector<PromptTokenDelta> prompt_;
    std::optional<Finished> finished_;
};

} // namespace etna::generate
