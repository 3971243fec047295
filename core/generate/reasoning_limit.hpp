#pragma once

#include "core/base/result.hpp"
#include "core/engine/constraint.hpp"
#include "core/generate/prompt.hpp"
#include "core/generate/request.hpp"
#include "core/output/parser.hpp"
#include "core/text/detokenizer.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

// Internal to core/generate: the limit on the reasoning of an answer.
namespace etna::generate {

/// The tokens that close reasoning.
struct ReasoningClose {
    std::vector<TokenId> first;
    std::vector<TokenId> again; ///< the reasoning was closed by `first` before, and has opened again
};

/// Closes the reasoning of one answer at a limit: its tokens are forced. The number of tokens and the text
/// decide, so that the answer does not depend on other requests.
class ReasoningConstraint final : public engine::Constraint {
public:
    struct Options {
        uint32_t tokens_max = 0;
        std::shared_ptr<const std::atomic<bool>> is_over = {};
        output::Parser parser;              ///< of the answer
        text::DetokenizeOptions detokenize; ///< `shown` is copied: the engine may outlive the request
        /// By the closing marker of the reasoning, see output::OpenReasoning.
        std::map<std::string_view, ReasoningClose> closes = {};
        uint32_t vocabulary = 0;
    };

    /// Borrows the tokenizer. `inner`: another constraint on the answer; may be null.
    ReasoningConstraint(const text::Tokenizer& tokenizer, Options options,
                        std::shared_ptr<engine::Constraint> inner);
    ReasoningConstraint(const ReasoningConstraint& other);

    bool prepare(Part part, const TimeSlice& slice) override;
    [[nodiscard]] bool restricts() const override;
    Result<Allowed> allowed() override;
    void accept(TokenId token) override;
    std::vector<TokenId> forced() override;
    Result<bool> is_over() override;
    [[nodiscard]] std::shared_ptr<Constraint> fork() const override;

private:
    struct Shared {
        std::shared_ptr<const std::atomic<bool>> is_over;
        std::vector<TokenId> shown;
        std::map<std::string_view, ReasoningClose> closes;
    };

    void close_if_over();
    [[nodiscard]] bool is_closing() const { return closed_tokens_ < close_.size(); }

    std::shared_ptr<const Shared> shared_;
    uint32_t tokens_max_;
    text::Detokenizer detokenizer_;
    output::Parser parser_;
    uint32_t tokens_ = 0;            ///< of reasoning so far
    std::span<const TokenId> close_; ///< the tokens that close the reasoning; empty: it is not at the limit
    std::size_t closed_tokens_ = 0;  ///< of close_, accepted so far
    bool was_closed_ = false;
    std::vector<uint32_t> mask_; ///< see allowed()
    std::shared_ptr<engine::Constraint> inner_;
};

/// Returns the constraint of an answer whose reasoning is limited; `inner`, which may be null, if its format
/// has no reasoning. `vocabulary`: the model's rows of logits. Borrows the tokenizer. Errors:
/// invalid_argument (the message is too long, or contains a marker; a bias bans what closes the reasoning),
/// and those of make_parser() and of the tokenizer.
Result<std::shared_ptr<engine::Constraint>> with_reasoning_limit(const text::Tokenizer& tokenizer,
                                                                 uint32_t vocabulary, const Request& request,
                                                                 const Prompt& prompt,
                                                                 std::shared_ptr<engine::Constraint> inner);

} // namespace etna::generate
