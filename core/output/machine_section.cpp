#include "core/output/machine.hpp"

#include <algorithm>

namespace etna::output {

namespace {

bool is_code(const Pattern& pattern) {
    return pattern.front().slot == Slot::code;
}

} // namespace

/// Precondition: kept_ is the start of the section's first mark.
void Parser::Machine::enter_section(const Section& section) {
    state_ = State::section;
    section_ = &section;
    section_calls_ = 0;
    bracketed_ = false;
    brackets_closed_ = false;
    separated_ = false;
}

void Parser::Machine::leave_section() {
    out_.mark();
    if (section_ == &message_section_) {
        enter_message_text(State::dropped);
    } else {
        enter_content();
    }
}

Parser::Machine::Progress Parser::Machine::section() {
    if (skip_space() == Progress::wait)
        return Progress::wait;
    switch (section_part()) {
    case Match::yes:
        return Progress::again;
    case Match::open:
        return Progress::wait;
    case Match::no:
        break;
    }
    const bool may_end = section_calls_ > 0 && !separated_ && !bracketed_;
    if (may_end && section_->close.empty()) {
        leave_section();
        return Progress::again;
    }
    switch (choose_call()) {
    case Match::yes:
        return Progress::again;
    case Match::open:
        return Progress::wait;
    case Match::no:
        break;
    }
    return no_call_begins();
}

/// Consumes a bracket, separator or close. `yes`: consumed one; `open`: more text is needed to decide.
Match Parser::Machine::section_part() {
    const bool outside = section_calls_ == 0 && !bracketed_ && !brackets_closed_;
    if (outside && section_->brackets != Brackets::none && rest().starts_with('[')) {
        ++at_;
        bracketed_ = true;
        return Match::yes;
    }
    if (bracketed_ && rest().starts_with(']')) {
        ++at_;
        bracketed_ = false;
        brackets_closed_ = true;
        return Match::yes;
    }
    if (!section_->close.empty()) {
        const Match close = match(section_->close);
        if (close == Match::yes) {
            at_ += trim(section_->close).size();
            leave_section();
        }
        if (close != Match::no)
            return close;
    }
    if (section_->separator.empty() || trim(section_->separator).empty() || section_calls_ == 0 ||
        brackets_closed_ || separated_)
        return Match::no;
    const Match separator = match(section_->separator);
    if (separator == Match::yes) {
        at_ += trim(section_->separator).size();
        separated_ = true;
    }
    return separator;
}

Match Parser::Machine::choose_call() {
    if (brackets_closed_)
        return Match::no;
    for (const auto& pattern : section_->calls) {
        const Match begins = may_begin(pattern);
        if (begins == Match::yes)
            enter_call(pattern);
        if (begins != Match::no)
            return begins;
    }
    return Match::no;
}

Match Parser::Machine::may_begin(const Pattern& pattern) const {
    if (rest().empty())
        return Match::no;
    for (const auto& part : pattern) {
        if (trim(part.text).empty())
            return may_begin(part.slot) ? Match::yes : Match::no;
        const Match begins = match(part.text);
        if (begins != Match::no || part.presence == Presence::required)
            return begins;
    }
    return Match::no;
}

bool Parser::Machine::may_begin(Slot slot) const {
    const char first = rest().front();
    const auto& code_names = syntax_.code.names;
    switch (slot) {
    case Slot::object:
    case Slot::arguments:
    case Slot::dictionary:
        return first == '{';
    case Slot::code:
        return section_ != &message_section_ ||
               std::find(code_names.begin(), code_names.end(), function_) != code_names.end();
    default:
        return is_function_name({&first, 1});
    }
}

/// Handles a section that continues with something other than a call, or ends.
Parser::Machine::Progress Parser::Machine::no_call_begins() {
    if (section_calls_ > 0 && !bracketed_) {
        const Sighting seen = content_marks_.match(rest(), more_); // the section's close is missing
        if (seen.at == 0 && !seen.mark && !rest().empty())
            return Progress::wait;
        if (seen.mark || rest().empty()) {
            leave_section();
            return Progress::again;
        }
        if (rest().find_first_of("}])") == 0) { // skip a surplus closing bracket
            ++at_;
            return Progress::again;
        }
    }
    if (rest().empty() && section_calls_ == 0)
        return Progress::wait;
    call_ = {};
    call_.begin = at_;
    call_.tentative = section_ == bare_;
    fail();
    return Progress::again;
}

void Parser::Machine::enter_call(const Pattern& pattern) {
    const auto& calls = section_->calls;
    const bool may_be_code = section_ != &message_section_ && !is_code(pattern) &&
                             std::any_of(calls.begin(), calls.end(), is_code);
    state_ = State::call;
    separated_ = false;
    call_ = {};
    call_.pattern = &pattern;
    call_.begin = at_;
    call_.tentative = section_ == bare_ || may_be_code;
    if (section_ == &message_section_)
        call_.name = function_;
    if (call_.tentative)
        out_.hold();
}

} // namespace etna::output
