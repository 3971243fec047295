#include "core/output/machine.hpp"

#include <algorithm>

namespace etna::output {

/// Minimum size of a closing text that ends a broken call; a shorter one also occurs inside calls.
constexpr std::size_t shortest_close = 4;

Parser::Machine::Progress Parser::Machine::part_text() {
    if (call_.part == call_.pattern->size()) {
        end_pattern();
        return Progress::again;
    }
    const Part& part = (*call_.pattern)[call_.part];
    const auto text = trim(part.text);
    if (!text.empty()) {
        if (skip_space() == Progress::wait)
            return Progress::wait;
        const Match found = match(text);
        if (found == Match::open)
            return Progress::wait;
        if (found == Match::no) {
            if (part.presence == Presence::optional) {
                ++call_.part;
            } else if (call_.done) { // texts missing after a completed call do not matter
                call_.part = call_.pattern->size();
            } else {
                fail();
            }
            return Progress::again;
        }
        at_ += text.size();
    }
    if (part.slot == Slot::none) {
        ++call_.part;
        if (call_.outer == nullptr && !call_.done && !slots_follow())
            end_call();
        return Progress::again;
    }
    call_.in_slot = true;
    enter_slot();
    return Progress::again;
}

void Parser::Machine::end_pattern() {
    if (call_.outer != nullptr) { // end of a parameter; another one may follow
        call_.pattern = call_.outer;
        call_.part = call_.outer_part;
        call_.outer = nullptr;
        call_.in_slot = true;
        return;
    }
    if (!call_.done)
        end_call();
    if (state_ != State::call || !call_.done)
        return;
    state_ = State::section;
    kept_ = at_;
}

/// Leaves a slot. A call whose last slot is self-delimiting is done, even without the closing texts.
void Parser::Machine::next_part() {
    const Slot slot = (*call_.pattern)[call_.part].slot;
    call_.in_slot = false;
    ++call_.part;
    const bool ends_itself = slot == Slot::object || slot == Slot::arguments || slot == Slot::dictionary;
    if (call_.outer == nullptr && ends_itself && !slots_follow())
        end_call();
}

bool Parser::Machine::slots_follow() const {
    return std::any_of(call_.pattern->begin() + static_cast<std::ptrdiff_t>(call_.part), call_.pattern->end(),
                       [](const Part& part) { return part.slot != Slot::none; });
}

/// Returns false if this is not a call.
bool Parser::Machine::begin_call() {
    if (call_.begun)
        return true;
    if (!is_function_name(call_.name) || (call_.tentative && !tools_.offers(call_.name)))
        return false;
    out_.begin_call(call_.name, call_.id);
    call_.sent_id = call_.id;
    call_.begun = true;
    if (call_.tentative && section_ == bare_) { // a known name and arguments are sufficient
        out_.mark();
        out_.release();
        call_.tentative = false;
    }
    return true;
}

void Parser::Machine::end_call() {
    if (!begin_call()) {
        fail();
        return;
    }
    out_.end_call(call_.id == call_.sent_id ? std::string_view() : call_.id);
    if (call_.tentative)
        out_.release();
    call_.tentative = false;
    call_.done = true;
    ++section_calls_;
}

/// Handles text that started like a call but is not one: it is content, a program or a broken call.
void Parser::Machine::fail() {
    if (call_.tentative) {
        out_.take_back();
        if (section_ == bare_) {
            at_ = kept_;
            enter_content();
            fresh_ = false;
        } else {
            at_ = call_.begin;
            enter_call(section_->calls.back());
        }
        return;
    }
    state_ = State::broken;
    ends_.clear();
    ends_.add(section_->close);
    closes_ = ends_.size();
    const auto call_close =
        section_->calls.empty() ? std::string_view() : trim(section_->calls.front().back().text);
    if (call_close.size() >= shortest_close)
        ends_.add(call_close);
    call_closes_ = ends_.size();
    for (std::size_t i = 0; i < content_marks_.size(); ++i) {
        if (meanings_[i].kind != Meaning::Kind::hidden && meanings_[i].kind != Meaning::Kind::reasoning_close)
            ends_.add(content_marks_[i]);
    }
}

/// Looks for the end of a broken call: the section's or the call's close, or the next mark.
Parser::Machine::Progress Parser::Machine::broken() {
    const Sighting seen = ends_.find(rest(), more_);
    at_ += seen.at;
    if (!seen.mark)
        return Progress::wait;
    if (*seen.mark < call_closes_)
        at_ += ends_[*seen.mark].size();
    out_.break_call(std::string_view(input_).substr(kept_, at_ - kept_));
    ++section_calls_;
    if (*seen.mark >= closes_ && *seen.mark < call_closes_) {
        state_ = State::section;
        kept_ = at_;
    } else {
        leave_section();
    }
    return Progress::again;
}

} // namespace etna::output
