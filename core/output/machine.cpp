#include "core/output/machine.hpp"

#include <algorithm>
#include <utility>

namespace etna::output {

Parser::Machine::Machine(const Syntax& syntax, Tools tools, const ParserOptions& options)
    : syntax_(syntax), tools_(std::move(tools)), is_form_(options.is_form),
      out_(options.start == Start::content ? EventWriter::Before::nothing : EventWriter::Before::mark) {
    const Start start = options.start;
    collect_marks();
    message_section_.calls = syntax_.messages.calls;
    if (start == Start::reasoning && syntax_.reasoning.empty()) {
        enter_message_text(State::reasoning);
    } else if (start == Start::reasoning) {
        enter_reasoning({});
    }
    if (start == Start::header && !syntax_.messages.open.empty()) {
        state_ = State::header;
        kept_ = 0;
    }
}

std::span<const Event> Parser::Machine::push(std::string_view text) {
    out_.clear();
    gate_.push(text, input_);
    run();
    forget_consumed();
    return out_.events();
}

std::span<const Event> Parser::Machine::finish(Ending ending) {
    out_.clear();
    if (ending == Ending::complete) {
        gate_.finish(input_);
        more_ = More::none;
        run();
        while (may_be_no_call()) {
            fail();
            run();
        }
    }
    // With tools, truncated output of white space alone may have preceded a call.
    const bool may_come_before_call = ending == Ending::cut_off && !tools_.empty() && !out_.has_content();
    if (state_ == State::content && rest().empty() && !may_come_before_call)
        out_.keep_space();
    const bool nothing_in_section = state_ == State::section && section_calls_ == 0;
    if (nothing_in_section || state_ == State::broken || (state_ == State::call && !call_.done)) {
        out_.take_back();
        out_.break_call(std::string_view(input_).substr(kept_));
    }
    return out_.events();
}

/// Whether an open call is still tentative. At the end of the output it then does not count as a call.
bool Parser::Machine::may_be_no_call() {
    if (state_ == State::section && section_ == bare_ && section_calls_ == 0) {
        call_.tentative = true;
    } else if (state_ != State::call) {
        return false;
    }
    return call_.tentative;
}

void Parser::Machine::run() {
    while (step() == Progress::again) {
    }
}

Parser::Machine::Progress Parser::Machine::step() {
    switch (state_) {
    case State::content:
        return content();
    case State::reasoning:
    case State::dropped:
        return reasoning();
    case State::header:
        return header();
    case State::section:
        return section();
    case State::call:
        return call_.in_slot ? slot() : part_text();
    case State::broken:
        return broken();
    }
    return Progress::wait;
}

void Parser::Machine::forget_consumed() {
    const std::size_t count = std::min(at_, kept_);
    input_.erase(0, count);
    const auto shift = [count](std::size_t& offset) { offset -= std::min(offset, count); };
    shift(at_);
    shift(call_.begin);
    shift(slot_begin_);
    shift(header_begin_);
    if (kept_ != nothing)
        shift(kept_);
}

Parser::Machine::Progress Parser::Machine::skip_space() {
    const std::string_view left = rest();
    at_ += std::min(left.find_first_not_of(white_space), left.size());
    return at_ == input_.size() && more_ == More::may_come ? Progress::wait : Progress::again;
}

Match Parser::Machine::match(std::string_view mark) const {
    const Match found = begins_with(rest(), trim(mark));
    return found == Match::open && more_ == More::none ? Match::no : found;
}

Result<Parser> Parser::create(const Syntax& syntax, const ParserOptions& options) {
    ETNA_TRY(auto tools, Tools::create(options.tools));
    return Parser(std::make_unique<Machine>(syntax, std::move(tools), options));
}

Parser::Parser(std::unique_ptr<Machine> machine) : machine_(std::move(machine)) {}
Parser::Parser(Parser&&) noexcept = default;
Parser& Parser::operator=(Parser&&) noexcept = default;
Parser::~Parser() = default;

std::span<const Event> Parser::push(std::string_view text) {
    return machine_->push(text);
}

std::span<const Event> Parser::finish(Ending ending) {
    return machine_->finish(ending);
}

} // namespace etna::output
