#pragma once

#include "core/engine/request.hpp"
#include "core/generate/generation.hpp"
#include "core/generate/prompt.hpp"
#include "core/text/detokenizer.hpp"
#include "core/text/stop_matcher.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Internal to core/generate: stage 10 of a token's life.
namespace etna::generate {

/// Returns the detokenizer options for an answer. Borrows the prompt's markers.
text::DetokenizeOptions detokenize_options(const Prompt& prompt, const Request& request);

/// Turns the tokens of one choice into events: detokenizes, finds stop strings, parses. Not thread-safe.
class OutputProcessor {
public:
    /// Borrows every argument except the sink. Errors: those of make_parser().
    static Result<OutputProcessor> create(const Model& model, const Prompt& prompt, const Request& request,
                                          Sink sink);

    /// Delivers the first prompt token when the prompt's tokens are reported.
    void begin();

    /// Adds a prompt token. Returns true if generation must end here.
    bool push_prompt_token(const engine::TokenEvent& event);

    /// Adds an answer token. Returns true if generation must end here.
    bool push(const engine::TokenEvent& event);

    /// Flushes held-back text after the last token. `end_token` is the end token that the model generated;
    /// empty if a complete grammar, a limit or the user ended the answer.
    void finish(std::optional<TokenId> end_token, bool is_complete);

    /// Returns the reason that push() returned true.
    [[nodiscard]] FinishReason reason() const;
    [[nodiscard]] bool stopped() const { return stops_.matched().has_value() || sink_stopped_; }

    /// Returns the stop string or stop token that ended the answer; empty for any other end.
    [[nodiscard]] std::string matched(std::optional<TokenId> end_token) const;

    /// Returns the event's token as delivered to the sink.
    [[nodiscard]] TokenDelta token_delta(const engine::TokenEvent& event) const;

    [[nodiscard]] const std::vector<TokenId>& tokens() const { return tokens_; }
    [[nodiscard]] uint32_t reasoning_tokens() const { return reasoning_tokens_; }
    [[nodiscard]] const output::Output& output() const { return collector_.output(); }

    /// Delivers `finished` even if the sink has asked to stop.
    void send_last(const Finished& finished) { sink_(finished); }

private:
    OutputProcessor(const Model& model, const Prompt& prompt, const Request& request, Sink sink,
                    std::optional<output::Parser> parser);

    /// Whether events of malformed tool calls reach the sink.
    enum class BrokenCalls : uint8_t { delivered, suppressed };

    void push_text(std::string_view text);
    void parse(std::string_view text);
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
    text::StopMatcher stops_;
    std::optional<output::Parser> parser_;
    output::Collector collector_;
    std::vector<TokenId> tokens_;
    bool is_reasoning_ = false; ///< the kind of the latest text
    uint32_t reasoning_tokens_ = 0;
    bool sink_stopped_ = false;
};

} // namespace etna::generate
