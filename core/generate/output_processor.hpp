#pragma once

#include "core/engine/request.hpp"
#include "core/generate/answer_text.hpp"
#include "core/generate/events.hpp"
#include "core/generate/prompt.hpp"
#include "core/generate/request.hpp"
#include "core/text/detokenizer.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Internal to core/generate: from the tokens of an answer to its events.
namespace etna::generate {

/// Returns the detokenizer options for an answer. Borrows the prompt's markers.
text::DetokenizeOptions detokenize_options(const Prompt& prompt, const Request& request);

/// Returns the reader of an answer's text: without a parser if the request needs none. Errors: those of
/// make_parser().
Result<AnswerText> make_answer_text(const Prompt& prompt, const Request& request);

/// Turns the tokens of one choice into events: detokenizes, finds stop strings, parses. Not thread-safe.
class OutputProcessor {
public:
    /// Borrows every argument except the sink. Errors: those of make_parser().
    static Result<OutputProcessor> create(const text::Tokenizer& tokenizer, const Prompt& prompt,
                                          const Request& request, Sink sink);

    /// Delivers the first prompt token when the prompt's tokens are reported.
    void begin();

    /// Adds a prompt token. Returns true if generation must end here.
    bool push_prompt_token(const engine::TokenEvent& event);

    /// Adds an answer token. Returns true if generation must end here.
    bool push(const engine::TokenEvent& event);

    /// Flushes held-back text after the last token. `end_token` is the end token that the model generated;
    /// empty if a complete grammar, a limit or the user ended the answer. `end_event`: its event, if known.
    void finish(std::optional<TokenId> end_token, const std::optional<engine::TokenEvent>& end_event,
                bool is_complete);

    /// Returns the reason that push() returned true.
    [[nodiscard]] FinishReason reason() const;
    [[nodiscard]] bool stopped() const { return text_.matched().has_value() || sink_stopped_; }

    /// Returns the stop string or stop token that ended the answer; empty for any other end.
    [[nodiscard]] std::string matched(std::optional<TokenId> end_token) const;

    /// Returns the event's token as delivered to the sink.
    [[nodiscard]] TokenDelta token_delta(const engine::TokenEvent& event) const;

    [[nodiscard]] const std::vector<TokenId>& tokens() const { return tokens_; }
    /// The end token, if its text was delivered.
    [[nodiscard]] std::optional<TokenId> shown_end() const { return shown_end_; }
    [[nodiscard]] uint32_t reasoning_tokens() const { return reasoning_tokens_; }
    [[nodiscard]] const output::Output& output() const { return collector_.output(); }

    /// Delivers `finished` even if the sink has asked to stop.
    void send_last(const Finished& finished) { sink_(finished); }

private:
    OutputProcessor(const text::Tokenizer& tokenizer, const Prompt& prompt, const Request& request, Sink sink,
                    AnswerText text);

    /// Whether events of malformed tool calls reach the sink.
    enum class BrokenCalls : uint8_t { delivered, suppressed };

    void push_text(std::string_view text);
    void deliver_end(TokenId token, const std::optional<engine::TokenEvent>& event);
    [[nodiscard]] bool shows_end(TokenId token) const;
    void report_final_tokens();
    void deliver(std::span<const output::Event> events, BrokenCalls broken = BrokenCalls::delivered);
    void send(const Event& event);
    PromptTokenDelta first_prompt_token();
    PromptTokenDelta prompt_delta(TokenId token);

    const text::Tokenizer* tokenizer_;
    const Prompt* prompt_;
    const Request* request_;
    Sink sink_;
    text::Detokenizer prompt_detokenizer_;
    text::Detokenizer detokenizer_;
    AnswerText text_;
    output::Collector collector_;
    std::vector<TokenId> tokens_;
    std::optional<TokenId> shown_end_;
    std::size_t text_bytes_ = 0;          ///< bytes of text so far
    std::vector<std::size_t> token_ends_; ///< end of each token's text in it; only with Request::logprobs
    std::size_t final_tokens_ = 0;        ///< see FinalTokens
    std::size_t reported_tokens_ = 0;     ///< in the last FinalTokens
    bool is_reasoning_ = false;           ///< the kind of the latest text
    uint32_t reasoning_tokens_ = 0;
    bool sink_stopped_ = false;
};

} // namespace etna::generate
