#include "core/output/machine.hpp"

#include <algorithm>

namespace etna::output {

void Parser::Machine::collect_marks() {
    const auto add = [this](std::string_view mark, Meaning meaning) {
        content_marks_.add(mark);
        if (meanings_.size() < content_marks_.size())
            meanings_.push_back(meaning);
    };
    using Kind = Meaning::Kind;
    for (std::size_t i = 0; i < syntax_.sections.size() && !tools_.empty(); ++i) {
        for (const auto open : syntax_.sections[i].open)
            add(open, {Kind::section, i});
        if (syntax_.sections[i].open.empty())
            bare_ = &syntax_.sections[i];
    }
    for (const auto& section : syntax_.sections) {
        if (tools_.empty())
            break;
        for (const auto& call : section.calls) {
            if (is_tag(call.back().text))
                add(call.back().text, {Kind::hidden});
        }
        if (is_tag(section.close))
            add(section.close, {Kind::hidden});
    }
    const bool is_plain = is_form_ && tools_.empty();
    for (std::size_t i = 0; i < syntax_.hidden.size() && !is_plain; ++i)
        add(syntax_.hidden[i], {Kind::hidden});
    for (const auto mark : syntax_.messages.open)
        add(mark, {Kind::message_open});
    for (const auto mark : syntax_.messages.close)
        add(mark, {Kind::message_close});
    for (std::size_t i = 0; i < syntax_.reasoning.size(); ++i) {
        const ReasoningMarks& marks = syntax_.reasoning[i];
        reasoning_opens_.add(marks.open);
        if (marks.expected && !is_plain) {
            add(marks.open, {Kind::reasoning_open, i});
            add(marks.close, {Kind::reasoning_close});
        }
    }
}

void Parser::Machine::enter_content() {
    state_ = State::content;
    fresh_ = true;
    kept_ = nothing;
}

Parser::Machine::Progress Parser::Machine::content() {
    if (fresh_) {
        const std::size_t begin = at_;
        (void)skip_space();
        out_.text(EventKind::content, std::string_view(input_).substr(begin, at_ - begin));
        if (rest().empty())
            return Progress::wait;
        Progress progress = Progress::again;
        if (reasoning_opens(progress))
            return progress;
        const char first = rest().front();
        if (bare_ != nullptr && (first == '{' || (first == '[' && bare_->brackets != Brackets::none))) {
            kept_ = at_;
            enter_section(*bare_);
            return Progress::again;
        }
    }
    const Sighting seen = content_marks_.find(rest(), more_);
    if (seen.at > 0) {
        out_.text(EventKind::content, rest().substr(0, seen.at));
        at_ += seen.at;
        fresh_ = false;
    }
    if (!seen.mark)
        return Progress::wait;
    content_mark(*seen.mark);
    return Progress::again;
}

/// Whether reasoning opens here. Also true, with `progress` set to wait, if more text is needed to decide.
bool Parser::Machine::reasoning_opens(Progress& progress) {
    const Sighting seen = reasoning_opens_.match(rest(), more_);
    if (seen.at != 0)
        return false;
    if (!seen.mark) {
        progress = Progress::wait;
        return true;
    }
    at_ += reasoning_opens_[*seen.mark].size();
    out_.mark();
    enter_reasoning(syntax_.reasoning[*seen.mark].close);
    return true;
}

void Parser::Machine::content_mark(std::size_t mark) {
    const Meaning meaning = meanings_[mark];
    kept_ = at_;
    at_ += content_marks_[mark].size();
    switch (meaning.kind) {
    case Meaning::Kind::section:
        out_.mark();
        enter_section(syntax_.sections[meaning.which]);
        break;
    case Meaning::Kind::message_open:
        enter_header();
        break;
    case Meaning::Kind::reasoning_open:
        out_.mark();
        enter_reasoning(syntax_.reasoning[meaning.which].close);
        break;
    case Meaning::Kind::reasoning_close:
        out_.end_unopened_reasoning();
        enter_content();
        break;
    case Meaning::Kind::message_close:
        out_.end_message();
        enter_content();
        break;
    case Meaning::Kind::hidden:
        out_.mark();
        enter_content();
        break;
    }
}

/// `close`: empty if the prompt opened the reasoning.
void Parser::Machine::enter_reasoning(std::string_view close) {
    state_ = State::reasoning;
    kept_ = nothing;
    reasoning_marks_.clear();
    reasoning_marks_.add(close);
    const bool any_expected = std::any_of(syntax_.reasoning.begin(), syntax_.reasoning.end(),
                                          [](const ReasoningMarks& marks) { return marks.expected; });
    for (const auto& marks : syntax_.reasoning) {
        if (close.empty() && (marks.expected || !any_expected))
            reasoning_marks_.add(marks.close);
    }
    closes_ = reasoning_marks_.size();
    for (const auto& section : syntax_.sections) {
        for (const auto open : section.open) {
            if (syntax_.call_ends_reasoning && !tools_.empty())
                reasoning_marks_.add(open);
        }
    }
}

/// Enters a message body that is not content; it ends at the next message mark.
void Parser::Machine::enter_message_text(State state) {
    state_ = state;
    kept_ = nothing;
    reasoning_marks_.clear();
    closes_ = 0;
    for (const auto close : syntax_.messages.close)
        reasoning_marks_.add(close);
    for (const auto open : syntax_.messages.open)
        reasoning_marks_.add(open);
}

Parser::Machine::Progress Parser::Machine::reasoning() {
    const Sighting seen = reasoning_marks_.find(rest(), more_);
    if (state_ == State::reasoning)
        out_.text(EventKind::reasoning, rest().substr(0, seen.at));
    at_ += seen.at;
    if (!seen.mark)
        return Progress::wait;
    if (*seen.mark < closes_)
        at_ += reasoning_marks_[*seen.mark].size();
    out_.mark();
    enter_content();
    return Progress::again;
}

} // namespace etna::output
