#pragma once

#include "core/engine/constraint.hpp"
#include "core/text/detokenizer.hpp"
#include "core/text/stop_matcher.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// Internal to core/generate.
namespace etna::generate {

/// Ends a beam search hypothesis at the first stop string. The search must know, because it scores a finished
/// hypothesis as is. Without beam search, stop strings are found off the engine's thread.
class StopWatch final : public engine::Constraint {
public:
    struct Options {
        std::vector<std::string> stop;
        uint32_t min_tokens = 0;            ///< see Request::min_tokens
        text::DetokenizeOptions detokenize; ///< `shown` is copied: the engine may outlive the request
    };

    /// Borrows the tokenizer. `inner`: another constraint on the text; may be null.
    StopWatch(const text::Tokenizer& tokenizer, Options options, std::shared_ptr<engine::Constraint> inner);
    StopWatch(const StopWatch& other);

    bool prepare(Part part, const TimeSlice& piece) override;
    Result<Allowed> allowed() override;
    void accept(TokenId token) override;
    Result<bool> is_over() override;
    [[nodiscard]] std::shared_ptr<Constraint> fork() const override;

private:
    std::shared_ptr<const std::vector<TokenId>> shown_;
    text::Detokenizer detokenizer_;
    text::StopMatcher stops_;
    uint32_t tokens_ = 0;
    uint32_t min_tokens_;
    std::shared_ptr<engine::Constraint> inner_;
};

} // namespace etna::generate
