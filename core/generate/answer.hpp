#pragma once

#include "core/engine/request.hpp"
#include "core/generate/generate.hpp"
#include "core/generate/prompt.hpp"
#include "core/text/detokenizer.hpp"
#include "core/text/stop_matcher.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Private to the room: stage 10 of a token's life.
namespace etna::generate {

/// How the tokens of an answer become text. Borrows the prompt's marks.
text::DetokenizeOptions detokenize_options(const Prompt& prompt, const Request& request);

/// Turns the tokens of one choice into events: detokenizes, finds stop strings, parses.
class Answer {
public:
    /// Borrows all of it but the sink. Errors: those of make_parser().
    static Result<Answer> create(const Model& model, const Prompt& prompt, const Request& request, Sink sink);

    /// Delivers the first token of a prompt that is told.
    void begin();

    /// A token of the prompt. True when the generation shall end here.
    bool score(const engine::TokenEvent& event);

    /// A token of the answer. True when the generation shall end here.
    bool push(const engine::TokenEvent& event);

    /// Delivers what was held back, after the last token. `end_token` is what the model ended with; empty
    /// where something else did: what the answer is kept to, if it is whole, or a limit or the user.
    void finish(std::optional<TokenId> end_token, bool is_whole);

    /// Why push() returned true.
    [[nodiscard]] FinishReason reason() const;
    [[nodiscard]] bool stopped() const { return stops_.matched().has_value() || refused_; }

    /// What ended it: the stop string or stop token; empty for anything else.
    [[nodiscard]] std::string matched(std::optional<TokenId> end_token) const;

    /// As it is told of.
    [[nodiscard]] TokenDelta token_delta(const engine::TokenEvent& event) const;

    [[nodiscard]] const std::vector<TokenId>& tokens() const { return tokens_; }
    [[nodiscard]] uint32_t reasoning_tokens() const { return reasoning_tokens_; }
    [[nodiscard]] const chat::output::Output& output() const { return collector_.output(); }

    /// To the sink, whatever it said before.
    void send_last(const Finished& finished) { sink_(finished); }

private:
    Answer(const Model& model, const Prompt& prompt, const Request& request, Sink sink,
           std::optional<chat::output::Parser> parser);

    /// Whether the sink hears of calls that are none.
    enum class BrokenCalls : uint8_t { told, kept_back };

    void push_text(std::string_view text);
    void parse(std::string_view text);
    void deliver(std::span<const chat::output::Event> events, BrokenCalls broken = BrokenCalls::told);
    void send(const Event& event);
    PromptTokenDelta first_of_prompt();
    PromptTokenDelta prompt_delta(TokenId token);

    const text::Tokenizer* tokenizer_;
    const Prompt* prompt_;
    const Request* request_;
    Sink sink_;
    text::Detokenizer prompt_detokenizer_;
    text::Detokenizer detokenizer_;
    text::StopMatcher stops_;
    std::optional<chat::output::Parser> parser_;
    chat::output::Collector collector_;
    std::vector<TokenId> tokens_;
    bool is_reasoning_ = false; ///< what came last
    uint32_t reasoning_tokens_ = 0;
    bool refused_ = false;
};

} // namespace etna::generate
