#pragma once

#include "core/engine/request.hpp"
#include "core/generate/collected_answer.hpp"
#include "server/api/timings.hpp"
#include "server/base/json.hpp"
#include "server/faces/llamacpp/request.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace etna::server::llamacpp {

/// The data that all choices of a request share.
struct ChoiceContext {
    OutputOptions output = {};
    Json settings = {}; ///< `generation_settings`
    std::string model = {};
    const text::Tokenizer* tokenizer = nullptr; ///< borrowed
    generate::PendingLogprobs pending = {};     ///< initial state, copied to each choice
};

/// One answer in llama.cpp's form. Not thread-safe.
class CompletionChoice {
public:
    using Progress = std::function<std::optional<engine::PromptProgress>()>;

    /// Borrows the context and the prompt, which must outlive it. `progress` returns the prompt's progress.
    CompletionChoice(const ChoiceContext& context, uint32_t index, std::span<const TokenId> prompt,
                     Progress progress);

    /// Returns the next piece of a stream, if the event completes one.
    std::optional<Json> take(const generate::Event& event);

    /// Returns a piece with the progress of the prompt, if that has changed since the last call.
    std::optional<Json> take_progress();

    /// Whether the time limit of the answer has passed.
    [[nodiscard]] bool is_complete() const;

    /// Returns the answer with the requested members only, in a stream without its text. Precondition:
    /// Finished has been taken.
    [[nodiscard]] Json result() const;

private:
    Json piece(std::string_view text);
    std::optional<Json> take_streamed(const generate::Event& event);
    std::optional<Json> last_piece();
    void add_probabilities(Json& json, const std::vector<generate::EmittedToken>& tokens) const;
    [[nodiscard]] Json probabilities(const std::vector<generate::EmittedToken>& tokens) const;
    [[nodiscard]] std::string_view stop_type() const;
    [[nodiscard]] std::size_t token_count() const { return answer_.tokens().size(); }

    const ChoiceContext* context_;
    uint32_t index_;
    std::span<const TokenId> prompt_;
    Progress progress_;
    std::optional<engine::PromptProgress> reported_;  ///< last reported progress
    std::optional<engine::PromptProgress> processed_; ///< progress at the first token
    generate::PendingLogprobs pending_;               ///< of a stream
    std::vector<TokenId> pending_ids_;                ///< tokens that no piece has delivered yet
    generate::CollectedAnswer answer_;                ///< of a stream, without logprobs
    bool has_line_end_ = false;
    api::TokenClock clock_;
};

} // namespace etna::server::llamacpp
