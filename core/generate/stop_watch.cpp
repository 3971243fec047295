#include "core/generate/stop_watch.hpp"

#include <utility>

namespace etna::generate {

StopWatch::StopWatch(const text::Tokenizer& tokenizer, Options options,
                     std::shared_ptr<engine::Constraint> inner)
    : shown_(std::make_shared<std::vector<TokenId>>(options.detokenize.shown.begin(),
                                                    options.detokenize.shown.end())),
      detokenizer_(
          tokenizer,
          {.control = options.detokenize.control, .position = options.detokenize.position, .shown = *shown_}),
      stops_(std::move(options.stop)), min_tokens_(options.min_tokens), inner_(std::move(inner)) {}

StopWatch::StopWatch(const StopWatch& other)
    : Constraint(other), shown_(other.shown_), detokenizer_(other.detokenizer_), stops_(other.stops_),
      tokens_(other.tokens_), min_tokens_(other.min_tokens_),
      inner_(other.inner_ == nullptr ? nullptr : other.inner_->fork()) {}

bool StopWatch::prepare(Part part, const TimeSlice& piece) {
    return inner_ == nullptr || inner_->prepare(part, piece);
}

Result<engine::Constraint::Allowed> StopWatch::allowed() {
    return inner_ == nullptr ? Result<Allowed>(Allowed{}) : inner_->allowed();
}

void StopWatch::accept(TokenId token) {
    const std::string_view text = detokenizer_.push(token);
    if (++tokens_ > min_tokens_)
        stops_.push(text);
    if (inner_ != nullptr)
        inner_->accept(token);
}

Result<bool> StopWatch::is_over() {
    if (stops_.matched())
        return true;
    return inner_ == nullptr ? Result<bool>(false) : inner_->is_over();
}

std::shared_ptr<engine::Constraint> StopWatch::fork() const {
    return std::make_shared<StopWatch>(*this);
}

} // namespace etna::generate
