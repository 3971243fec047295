#include "core/output/output_machine.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace etna::output {
namespace {

/// Returns the word after `marker` in a header; empty if `marker` is missing.
std::string_view word_after(std::string_view header, std::string_view marker) {
    const auto at = marker.empty() ? std::string_view::npos : header.find(marker);
    if (at == std::string_view::npos)
        return {};
    header.remove_prefix(at + marker.size());
    return header.substr(0, header.find_first_of(" \t\r\n<"));
}

/// Whether at most one word, the role, precedes the first marker.
bool may_begin_header(const Messages& messages, std::string_view text) {
    std::vector<std::string_view> markers = messages.open;
    for (const auto marker : {messages.channel, messages.recipient, messages.body}) {
        if (!marker.empty())
            markers.push_back(marker);
    }
    std::size_t first = std::string_view::npos;
    for (const auto marker : markers)
        first = std::min(first, text.find(marker));
    const auto before = trim(text.substr(0, first));
    const auto after_word = trim(before.substr(std::min(before.find_first_of(white_space), before.size())));
    const auto closes = [before](std::string_view marker) {
        return before.find(marker) != std::string_view::npos;
    };
    if (std::any_of(messages.close.begin(), messages.close.end(), closes))
        return false;
    return after_word.empty() ||
           (first == std::string_view::npos && std::any_of(markers.begin(), markers.end(), [&](auto marker) {
                return match_prefix(after_word, marker) == Match::partial;
            }));
}

bool names_channel_or_recipient(const Messages& messages, std::string_view header) {
    const auto contains = [header](std::string_view marker) {
        return !marker.empty() && header.find(marker) != std::string_view::npos;
    };
    return contains(messages.channel) || contains(messages.recipient);
}

bool applies(const Route& route, std::string_view channel, std::string_view recipient) {
    const bool right_recipient = route.recipient.ends_with('.') ? recipient.starts_with(route.recipient)
                                                                : recipient == route.recipient;
    return (route.channel.empty() || route.channel == channel) &&
           (route.recipient.empty() || right_recipient) && (!route.addressed || !recipient.empty());
}

constexpr std::size_t max_header_bytes = 1024;

} // namespace

OutputMachine::OutputMachine(const Syntax& syntax, Tools tools, const ParserOptions& options)
    : rules_(std::make_shared<const Rules>(Rules{
          .syntax = syntax, .tools = std::move(tools), .message_section = {.calls = syntax.messages.calls}})),
      syntax_(rules_->syntax), tools_(rules_->tools), message_section_(rules_->message_section),
      is_structured_(options.is_structured), has_strict_calls_(options.has_strict_calls),
      mentions_answer_markers_(options.mentions_answer_markers),
      out_(options.start == Start::content ? EventWriter::Before::nothing : EventWriter::Before::marker),
      call_(syntax_, tools_, input_, out_) {
    const Start start = options.start;
    collect_markers();
    if (start == Start::reasoning && syntax_.reasoning.empty()) {
        enter_message_text(State::reasoning);
    } else if (start == Start::reasoning) {
        enter_reasoning({});
    }
    if (start == Start::header && !syntax_.messages.open.empty()) {
        state_ = State::header;
        retained_ = 0;
    }
}

std::unique_ptr<OutputMachine> OutputMachine::copy() const {
    auto copied = std::unique_ptr<OutputMachine>(new OutputMachine(*this));
    copied->call_.attach(copied->input_, copied->out_);
    return copied;
}

std::string_view OutputMachine::held_space() const {
    const bool is_decided = state_ == State::content && input_.rest().empty();
    return is_decided ? out_.held_space() : std::string_view();
}

std::size_t OutputMachine::undecided_bytes() const {
    if (state_ == State::content)
        return input_.rest().size() + out_.held_bytes();
    const bool may_be_reread = state_ != State::reasoning && retained_ != not_retained;
    return may_be_reread ? input_.from(retained_).size() : 0;
}

std::optional<OpenReasoning> OutputMachine::open_reasoning() const {
    if (state_ != State::reasoning || reasoning_markers_.size() == 0)
        return std::nullopt;
    return OpenReasoning{.close = reasoning_markers_[0], .is_decided = input_.rest().empty()};
}

std::span<const Event> OutputMachine::push(std::string_view text) {
    out_.clear();
    input_.push(text);
    run();
    forget_consumed();
    return out_.events();
}

std::span<const Event> OutputMachine::finish(Ending ending) {
    out_.clear();
    if (ending == Ending::complete) {
        input_.finish();
        run();
        while (retry_tentative_call())
            run();
    }
    // With tools, truncated output of white space alone may have preceded a call.
    const bool may_come_before_call = ending == Ending::cut_off && !tools_.empty() && !out_.has_content();
    if (state_ == State::content && input_.rest().empty() && !may_come_before_call)
        out_.flush_space();
    const bool is_empty_section = state_ == State::section && section_calls_ == 0;
    if (attempt_.lacks != Proof::none || is_empty_section || state_ == State::broken ||
        (state_ == State::call && !call_.is_complete())) {
        out_.discard();
        out_.break_call(input_.from(retained_));
    }
    return out_.events();
}

void OutputMachine::run() {
    while (step() == Progress::again) {
    }
}

OutputMachine::Progress OutputMachine::step() {
    switch (state_) {
    case State::content:
        return read_content();
    case State::reasoning:
    case State::dropped:
        return read_reasoning();
    case State::header:
        return read_header();
    case State::section:
        return read_section();
    case State::call:
        return read_call();
    case State::broken:
        return read_broken_call();
    }
    return Progress::wait;
}

void OutputMachine::forget_consumed() {
    const std::size_t count = input_.erase_before(retained_);
    call_.shift_offsets(count);
    shift(header_begin_, count);
    shift(calls_end_, count);
    shift(attempt_.begin, count);
    if (retained_ != not_retained)
        shift(retained_, count);
}

void OutputMachine::collect_markers() {
    const auto add = [this](std::string_view marker, Meaning meaning) {
        content_markers_.add(marker);
        if (meanings_.size() < content_markers_.size())
            meanings_.push_back(meaning);
    };
    using Kind = Meaning::Kind;
    for (std::size_t i = 0; i < syntax_.sections.size() && !tools_.empty(); ++i) {
        const Section& section = syntax_.sections[i];
        for (const auto open : section.open)
            add(open, {Kind::section, i});
        if (section.open.empty() && !has_strict_calls_)
            line_starts_ = "{[";
    }
    const auto add_close = [&](std::string_view marker) {
        if (is_tag(marker))
            add(marker, {trim(marker).starts_with("</") ? Kind::call_close : Kind::hidden});
    };
    for (const auto& section : syntax_.sections) {
        if (tools_.empty() || section.origin == Origin::foreign)
            continue;
        for (const auto& call : section.calls)
            add_close(call.back().text);
        add_close(section.close);
    }
    const bool is_plain = is_structured_ && tools_.empty();
    for (std::size_t i = 0; i < syntax_.hidden.size() && !is_plain; ++i)
        add(syntax_.hidden[i], {Kind::hidden});
    for (std::size_t i = 0; i < syntax_.answer.size() && !is_plain; ++i)
        add(syntax_.answer[i].close, {Kind::answer_close, i});
    for (const auto marker : syntax_.messages.open)
        add(marker, {Kind::message_open});
    for (const auto marker : syntax_.messages.close)
        add(marker, {Kind::message_close});
    for (std::size_t i = 0; i < syntax_.reasoning.size(); ++i) {
        const ReasoningMarkers& pair = syntax_.reasoning[i];
        reasoning_opens_.add(pair.open);
        if (pair.expected && !is_plain) {
            add(pair.open, {Kind::reasoning_open, i});
            add(pair.close, {Kind::reasoning_close});
        }
    }
}

void OutputMachine::enter_content() {
    state_ = State::content;
    at_span_start_ = true;
    in_block_ = false;
    retained_ = not_retained;
}

OutputMachine::Progress OutputMachine::read_content() {
    if (at_span_start_) {
        const std::size_t begin = input_.offset();
        (void)input_.skip_space();
        out_.text(EventKind::content, input_.between(begin, input_.offset()));
        if (input_.rest().empty())
            return Progress::wait;
        Progress progress = Progress::again;
        if (reasoning_opens(progress) || answer_opens(progress))
            return progress;
    }
    if (input_.rest().empty())
        return Progress::wait;
    const MarkerMatch here = content_markers_.match(input_.rest(), input_.more());
    const bool at_start = at_span_start_ || (at_line_start_ && !in_block_);
    if (here.offset != 0 && at_start && begin_unmarked())
        return Progress::again;
    const MarkerMatch found = content_markers_.find(input_.rest(), input_.more(), line_starts_);
    if (found.offset > 0)
        take_content(found.offset);
    if (found.marker)
        return enter_marker(*found.marker);
    return found.is_line_start ? Progress::again : Progress::wait;
}

void OutputMachine::take_content(std::size_t bytes) {
    const auto text = input_.take(bytes);
    out_.text(EventKind::content, text);
    const auto last_line = text.rfind('\n');
    const bool begins_blank = last_line != std::string_view::npos || is_line_blank_ || at_span_start_;
    is_line_blank_ = begins_blank && trim(text.substr(last_line + 1)).empty();
    at_line_start_ = text.ends_with('\n');
    at_span_start_ = false;
    is_after_reasoning_ = false;
}

/// Whether reasoning opens here. Also true, with `progress` set to wait, if more text is needed to decide.
bool OutputMachine::reasoning_opens(Progress& progress) {
    const MarkerMatch found = reasoning_opens_.match(input_.rest(), input_.more());
    if (found.offset != 0)
        return false;
    if (!found.marker) {
        progress = Progress::wait;
        return true;
    }
    input_.skip(reasoning_opens_[*found.marker].size());
    out_.add_marker();
    enter_reasoning(syntax_.reasoning[*found.marker].close);
    return true;
}

/// As reasoning_opens(), for the markers around an answer.
bool OutputMachine::answer_opens(Progress& progress) {
    for (const AnswerMarkers& pair : syntax_.answer) {
        const bool is_plain = is_structured_ && tools_.empty();
        const bool may_open = pair.expected || (is_after_reasoning_ && !mentions_answer_markers_);
        if (is_plain || !may_open)
            continue;
        const Match found = input_.match(pair.open);
        if (found == Match::no)
            continue;
        progress = found == Match::yes ? Progress::again : Progress::wait;
        if (found == Match::yes) {
            input_.skip(pair.open.size());
            out_.add_marker();
            answer_close_ = pair.close;
        }
        return true;
    }
    return false;
}

/// Whether the line of content that the marker, at the read position, is on holds nothing else but markers;
/// `partial`: more text is needed to decide.
Match OutputMachine::is_alone_on_line(std::string_view marker) const {
    if (in_block_ || !(at_span_start_ || is_line_blank_))
        return Match::no;
    const std::string_view after = input_.rest().substr(marker.size());
    const auto next = after.find_first_not_of(" \t\r");
    if (next == std::string_view::npos)
        return input_.more() == More::may_come ? Match::partial : Match::yes;
    return after[next] == '\n' || after[next] == '<' ? Match::yes : Match::no;
}

OutputMachine::Progress OutputMachine::enter_marker(std::size_t marker) {
    const Meaning meaning = meanings_[marker];
    const std::string_view text = content_markers_[marker];
    const bool is_section = meaning.kind == Meaning::Kind::section;
    // A grammar of calls has no prose in which a tag could be mentioned.
    const bool may_be_prose = meaning.kind == Meaning::Kind::call_close && !has_strict_calls_;
    const Match alone = may_be_prose ? is_alone_on_line(text) : Match::yes;
    if (alone == Match::partial)
        return Progress::wait;
    const bool is_text = (is_section && !begin_marked(meaning.index, text, State::content)) ||
                         (meaning.kind == Meaning::Kind::answer_close && text != answer_close_) ||
                         alone == Match::no;
    if (is_text) {
        in_block_ = in_block_ && !(is_fence(text) && is_line_blank_);
        take_content(text.size());
        return Progress::again;
    }
    if (is_section)
        return Progress::again;
    retain_from_here();
    input_.skip(text.size());
    switch (meaning.kind) {
    case Meaning::Kind::message_open:
        enter_header();
        break;
    case Meaning::Kind::reasoning_open:
        out_.add_marker();
        enter_reasoning(syntax_.reasoning[meaning.index].close);
        break;
    case Meaning::Kind::reasoning_close:
        out_.end_unopened_reasoning();
        enter_content();
        is_after_reasoning_ = true;
        break;
    case Meaning::Kind::message_close:
        out_.end_message();
        enter_content();
        break;
    case Meaning::Kind::answer_close:
        answer_close_ = {};
        [[fallthrough]];
    default:
        out_.add_marker();
        enter_content();
        break;
    }
    return Progress::again;
}

/// `close`: empty if the prompt opened the reasoning.
void OutputMachine::enter_reasoning(std::string_view close) {
    state_ = State::reasoning;
    out_.begin_reasoning();
    retained_ = not_retained;
    reasoning_markers_.clear();
    reasoning_meanings_.clear();
    add_reasoning_marker(close, {Meaning::Kind::reasoning_close});
    const bool any_expected = std::any_of(syntax_.reasoning.begin(), syntax_.reasoning.end(),
                                          [](const ReasoningMarkers& pair) { return pair.expected; });
    for (const auto& pair : syntax_.reasoning) {
        if (close.empty() && (pair.expected || !any_expected))
            add_reasoning_marker(pair.close, {Meaning::Kind::reasoning_close});
    }
    add_sections_to_reasoning();
}

/// Enters a message body that is not content; it ends at the next message marker.
void OutputMachine::enter_message_text(State state) {
    state_ = state;
    retained_ = not_retained;
    reasoning_markers_.clear();
    reasoning_meanings_.clear();
    for (const auto close : syntax_.messages.close)
        add_reasoning_marker(close, {Meaning::Kind::reasoning_close});
    for (const auto open : syntax_.messages.open)
        add_reasoning_marker(open, {Meaning::Kind::message_open});
    if (state == State::reasoning)
        add_sections_to_reasoning();
}

void OutputMachine::add_reasoning_marker(std::string_view marker, Meaning meaning) {
    if (trim(marker).empty())
        return;
    reasoning_markers_.add(marker);
    reasoning_meanings_.push_back(meaning);
}

void OutputMachine::add_sections_to_reasoning() {
    for (std::size_t i = 0; i < syntax_.sections.size() && !tools_.empty(); ++i) {
        for (const auto open : syntax_.sections[i].open) {
            if (syntax_.sections[i].origin == Origin::own || !is_fence(open))
                add_reasoning_marker(open, {Meaning::Kind::section, i});
        }
    }
}

OutputMachine::Progress OutputMachine::read_reasoning() {
    const MarkerMatch found = reasoning_markers_.find(input_.rest(), input_.more());
    const auto text = input_.take(found.offset);
    if (state_ == State::reasoning)
        out_.text(EventKind::reasoning, text);
    if (!found.marker)
        return Progress::wait;
    const Meaning meaning = reasoning_meanings_[*found.marker];
    const std::string_view marker = reasoning_markers_[*found.marker];
    if (meaning.kind == Meaning::Kind::section) {
        if (!begin_marked(meaning.index, marker, State::reasoning))
            out_.text(EventKind::reasoning, input_.take(marker.size()));
        return Progress::again;
    }
    if (meaning.kind == Meaning::Kind::reasoning_close)
        input_.skip(marker.size());
    out_.add_marker();
    is_after_reasoning_ = state_ == State::reasoning;
    enter_content();
    return Progress::again;
}

void OutputMachine::enter_header() {
    state_ = State::header;
    header_begin_ = input_.offset();
}

OutputMachine::Progress OutputMachine::read_header() {
    const Messages& messages = syntax_.messages;
    const auto text = input_.from(header_begin_).substr(0, max_header_bytes);
    const auto end = text.find(messages.body);
    const bool names_recipient = messages.recipient.empty();
    if (!names_recipient && !may_begin_header(syntax_.messages, text)) {
        reject_header();
        return Progress::again;
    }
    if (end == std::string_view::npos) {
        const bool is_open = !names_recipient || text.empty() || is_function_name(text);
        if (is_open && text.size() < max_header_bytes && input_.more() == More::may_come)
            return Progress::wait;
        reject_header();
        return Progress::again;
    }
    const bool channel_opened =
        !messages.channel.empty() && input_.from(retained_).starts_with(messages.channel);
    input_.seek(header_begin_ + end + messages.body.size());
    if (!follow_header(input_.between(channel_opened ? retained_ : header_begin_, header_begin_ + end)))
        reject_header();
    return Progress::again;
}

/// If headers are bare recipient names, the marker before this one was ordinary text and becomes content.
/// Otherwise the marker is dropped, together with a partial header at the end of the output. Content without
/// the header that the prompt has opened is still delivered.
void OutputMachine::reject_header() {
    input_.seek(header_begin_);
    const std::size_t begin = retained_;
    enter_content();
    if (syntax_.messages.recipient.empty()) {
        if (begin < header_begin_) {
            out_.text(EventKind::content, input_.between(begin, header_begin_));
            at_span_start_ = false;
        }
        return;
    }
    out_.add_marker();
    const auto text = input_.rest();
    const bool has_marker = begin < header_begin_ || names_channel_or_recipient(syntax_.messages, text) ||
                            match_prefix(trim(text), syntax_.messages.channel) == Match::partial;
    if (input_.more() == More::none && has_marker && may_begin_header(syntax_.messages, text))
        input_.skip_all();
}

bool OutputMachine::follow_header(std::string_view header) {
    const Messages& messages = syntax_.messages;
    const auto channel = word_after(header, messages.channel);
    const auto recipient = messages.recipient.empty() ? trim(header) : word_after(header, messages.recipient);
    const auto route = std::find_if(messages.routes.begin(), messages.routes.end(), [&](const Route& one) {
        return (one.audience != Audience::function || !tools_.empty()) && applies(one, channel, recipient);
    });
    if (route != messages.routes.end())
        return follow(*route, recipient);
    if (messages.recipient.empty())
        return false;
    out_.add_marker();
    enter_content();
    return true;
}

bool OutputMachine::follow(const Route& route, std::string_view recipient) {
    if (route.audience == Audience::function) {
        function_ = recipient.substr(route.recipient.ends_with('.') ? route.recipient.size() : 0);
        if (!is_function_name(function_) || (syntax_.messages.recipient.empty() && !tools_.offers(function_)))
            return false;
        out_.add_marker();
        enter_section(message_section_);
        return true;
    }
    out_.add_marker();
    if (route.audience == Audience::user) {
        enter_content();
    } else {
        enter_message_text(route.audience == Audience::model ? State::reasoning : State::dropped);
    }
    return true;
}

} // namespace etna::output
