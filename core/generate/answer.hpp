#pragma once

#include "core/engine/request.hpp"
#include "core/generate/generate.hpp"
#include "core/generate/prompt.hpp"
#include "core/text/detokenizer.hpp"
#include "core/text/stop_matcher.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

// Private to the room: stage 10 of a token's life.
namespace etna::generate {

/// Turns one request's tokens into events: detokenizes, finds stop strings, parses.
class Answer {
public:
    /// Borrows all of it.
    Answer(const Model& model, Prompt& prompt, const Request& request, const Sink& sink);

    /// True when the generation shall end here.
    bool push(const engine::TokenEvent& event);

    /// Delivers what was held back, after the last token. `end_token` is what the model ended with; empty
    /// where a limit or the user stopped it.
    void finish(std::optional<TokenId> end_token);

    /// Why push() returned true.
    [[nodiscard]] FinishReason reason() const;
    [[nodiscard]] bool stopped() const { return stops_.matched().has_value() || refused_; }

    [[nodiscard]] const std::vector<TokenId>& tokens() const { return tokens_; }
    [[nodiscard]] const chat::output::Output& output() const { return collector_.output(); }

private:
    void parse(std::string_view text);
    void deliver(std::span<const chat::output::Event> events);
    void send(const Event& event);
    [[nodiscard]] TokenDelta token_delta(const engine::TokenEvent& event) const;

    const text::Tokenizer* tokenizer_;
    Prompt* prompt_;
    const Sink* sink_;
    text::Detokenizer detokenizer_;
    text::StopMatcher stops_;
    bool tells_tokens_;
    chat::output::Collector collector_;
    std::vector<TokenId> tokens_;
    bool refused_ = false;
};

} // namespace etna::generate
