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

bool is_code(const Pattern& pattern) {
    return pattern.front().field == Field::code;
}

constexpr std::size_t max_header_bytes = 1024;

/// Minimum size of a closing text that ends a broken call; a shorter one also occurs inside calls.
constexpr std::size_t shortest_close = 4;

} // namespace

OutputMachine::OutputMachine(const Syntax& syntax, Tools tools, const ParserOptions& options)
    : syntax_(syntax), tools_(std::move(tools)), is_structured_(options.is_structured),
      out_(options.start == Start::content ? EventWriter::Before::nothing : EventWriter::Before::marker),
      call_(syntax_, tools_, input_, out_) {
    const Start start = options.start;
    collect_markers();
    message_section_.calls = syntax_.messages.calls;
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
    if (is_empty_section || state_ == State::broken || (state_ == State::call && !call_.is_complete())) {
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
        for (const auto open : syntax_.sections[i].open)
            add(open, {Kind::section, i});
        if (syntax_.sections[i].open.empty())
            unmarked_ = &syntax_.sections[i];
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
    const bool is_plain = is_structured_ && tools_.empty();
    for (std::size_t i = 0; i < syntax_.hidden.size() && !is_plain; ++i)
        add(syntax_.hidden[i], {Kind::hidden});
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
        if (reasoning_opens(progress))
            return progress;
        const char first = input_.rest().front();
        if (unmarked_ != nullptr &&
            (first == '{' || (first == '[' && unmarked_->brackets != Brackets::none))) {
            retain_from_here();
            enter_section(*unmarked_);
            return Progress::again;
        }
    }
    const MarkerMatch found = content_markers_.find(input_.rest(), input_.more());
    if (found.offset > 0) {
        out_.text(EventKind::content, input_.take(found.offset));
        at_span_start_ = false;
    }
    if (!found.marker)
        return Progress::wait;
    enter_marker(*found.marker);
    return Progress::again;
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

void OutputMachine::enter_marker(std::size_t marker) {
    const Meaning meaning = meanings_[marker];
    retain_from_here();
    input_.skip(content_markers_[marker].size());
    switch (meaning.kind) {
    case Meaning::Kind::section:
        out_.add_marker();
        enter_section(syntax_.sections[meaning.index]);
        break;
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
        break;
    case Meaning::Kind::message_close:
        out_.end_message();
        enter_content();
        break;
    case Meaning::Kind::hidden:
        out_.add_marker();
        enter_content();
        break;
    }
}

/// `close`: empty if the prompt opened the reasoning.
void OutputMachine::enter_reasoning(std::string_view close) {
    state_ = State::reasoning;
    retained_ = not_retained;
    reasoning_markers_.clear();
    reasoning_markers_.add(close);
    const bool any_expected = std::any_of(syntax_.reasoning.begin(), syntax_.reasoning.end(),
                                          [](const ReasoningMarkers& pair) { return pair.expected; });
    for (const auto& pair : syntax_.reasoning) {
        if (close.empty() && (pair.expected || !any_expected))
            reasoning_markers_.add(pair.close);
    }
    closes_ = reasoning_markers_.size();
    for (const auto& section : syntax_.sections) {
        for (const auto open : section.open) {
            if (syntax_.call_ends_reasoning && !tools_.empty())
                reasoning_markers_.add(open);
        }
    }
}

/// Enters a message body that is not content; it ends at the next message marker.
void OutputMachine::enter_message_text(State state) {
    state_ = state;
    retained_ = not_retained;
    reasoning_markers_.clear();
    closes_ = 0;
    for (const auto close : syntax_.messages.close)
        reasoning_markers_.add(close);
    for (const auto open : syntax_.messages.open)
        reasoning_markers_.add(open);
}

OutputMachine::Progress OutputMachine::read_reasoning() {
    const MarkerMatch found = reasoning_markers_.find(input_.rest(), input_.more());
    const auto text = input_.take(found.offset);
    if (state_ == State::reasoning)
        out_.text(EventKind::reasoning, text);
    if (!found.marker)
        return Progress::wait;
    if (*found.marker < closes_)
        input_.skip(reasoning_markers_[*found.marker].size());
    out_.add_marker();
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

/// Precondition: retained_ is the offset of the section's first marker.
void OutputMachine::enter_section(const Section& section) {
    state_ = State::section;
    section_ = &section;
    section_calls_ = 0;
    bracketed_ = false;
    brackets_closed_ = false;
    separated_ = false;
}

void OutputMachine::leave_section() {
    out_.add_marker();
    if (section_ == &message_section_) {
        enter_message_text(State::dropped);
    } else {
        enter_content();
    }
}

OutputMachine::Progress OutputMachine::progress_after(Match match) {
    return match == Match::yes ? Progress::again : Progress::wait;
}

OutputMachine::Progress OutputMachine::read_section() {
    if (!input_.skip_space())
        return Progress::wait;
    if (const Match part = section_part(); part != Match::no)
        return progress_after(part);
    const bool may_end = section_calls_ > 0 && !separated_ && !bracketed_;
    if (may_end && section_->close.empty()) {
        leave_section();
        return Progress::again;
    }
    if (const Match call = choose_call(); call != Match::no)
        return progress_after(call);
    return read_other_than_call();
}

/// Consumes a bracket, separator or close. `yes`: consumed one; `partial`: more text is needed to decide.
Match OutputMachine::section_part() {
    const bool outside = section_calls_ == 0 && !bracketed_ && !brackets_closed_;
    if (outside && section_->brackets != Brackets::none && input_.rest().starts_with('[')) {
        input_.skip(1);
        bracketed_ = true;
        return Match::yes;
    }
    if (bracketed_ && input_.rest().starts_with(']')) {
        input_.skip(1);
        bracketed_ = false;
        brackets_closed_ = true;
        return Match::yes;
    }
    if (!section_->close.empty()) {
        const Match close = input_.match(section_->close);
        if (close == Match::yes) {
            input_.skip(trim(section_->close).size());
            leave_section();
        }
        if (close != Match::no)
            return close;
    }
    if (section_->separator.empty() || trim(section_->separator).empty() || section_calls_ == 0 ||
        brackets_closed_ || separated_)
        return Match::no;
    const Match separator = input_.match(section_->separator);
    if (separator == Match::yes) {
        input_.skip(trim(section_->separator).size());
        separated_ = true;
    }
    return separator;
}

Match OutputMachine::choose_call() {
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

Match OutputMachine::may_begin(const Pattern& pattern) const {
    if (input_.rest().empty())
        return Match::no;
    for (const auto& part : pattern) {
        if (trim(part.text).empty())
            return may_begin(part.field) ? Match::yes : Match::no;
        const Match begins = input_.match(part.text);
        if (begins != Match::no || part.presence == Presence::required)
            return begins;
    }
    return Match::no;
}

bool OutputMachine::may_begin(Field field) const {
    const char first = input_.rest().front();
    const auto& code_names = syntax_.code.names;
    switch (field) {
    case Field::object:
    case Field::arguments:
    case Field::dictionary:
        return first == '{';
    case Field::code:
        return section_ != &message_section_ ||
               std::find(code_names.begin(), code_names.end(), function_) != code_names.end();
    default:
        return is_function_name({&first, 1});
    }
}

/// Handles a section that continues with something other than a call, or ends.
OutputMachine::Progress OutputMachine::read_other_than_call() {
    if (section_calls_ > 0 && !bracketed_) {
        const MarkerMatch found =
            content_markers_.match(input_.rest(), input_.more()); // the section's close is missing
        if (found.offset == 0 && !found.marker && !input_.rest().empty())
            return Progress::wait;
        if (found.marker || input_.rest().empty()) {
            leave_section();
            return Progress::again;
        }
        if (input_.rest().find_first_of("}])") == 0) { // skip a surplus closing bracket
            input_.skip(1);
            return Progress::again;
        }
    }
    if (input_.rest().empty() && section_calls_ == 0)
        return Progress::wait;
    if (section_ == unmarked_) {
        reject_unmarked_section();
    } else {
        enter_broken_call();
    }
    return Progress::again;
}

void OutputMachine::enter_call(const Pattern& pattern) {
    using Certainty = CallReader::Certainty;
    const auto& calls = section_->calls;
    const bool may_be_code = section_ != &message_section_ && !is_code(pattern) &&
                             std::any_of(calls.begin(), calls.end(), is_code);
    state_ = State::call;
    separated_ = false;
    call_.start({.pattern = pattern,
                 .certainty = section_ == unmarked_ ? Certainty::needs_start
                              : may_be_code         ? Certainty::needs_end
                                                    : Certainty::certain,
                 .function = section_ == &message_section_ ? std::string_view(function_) : std::string_view(),
                 .close = section_->close});
}

OutputMachine::Progress OutputMachine::read_call() {
    switch (call_.step()) {
    case CallReader::Progress::wait:
        return Progress::wait;
    case CallReader::Progress::again:
        break;
    case CallReader::Progress::ended:
        ++section_calls_;
        state_ = State::section;
        retain_from_here();
        break;
    case CallReader::Progress::failed:
        if (!retry_tentative_call())
            enter_broken_call();
        break;
    }
    return Progress::again;
}

/// Rereads text that started like a call but is not one, as content or as a program. Returns false if the
/// text can only be a call.
bool OutputMachine::retry_tentative_call() {
    const bool is_unmarked_start = state_ == State::section && section_ == unmarked_ && section_calls_ == 0;
    if (!is_unmarked_start && (state_ != State::call || !call_.is_tentative()))
        return false;
    if (section_ == unmarked_) {
        reject_unmarked_section();
    } else {
        out_.discard();
        input_.seek(call_.begin());
        enter_call(section_->calls.back());
    }
    return true;
}

/// Rereads text that started like a section without an opening marker as content.
void OutputMachine::reject_unmarked_section() {
    out_.discard();
    input_.seek(retained_);
    enter_content();
    at_span_start_ = false;
}

void OutputMachine::enter_broken_call() {
    state_ = State::broken;
    broken_ends_.clear();
    broken_ends_.add(section_->close);
    section_closes_ = broken_ends_.size();
    const auto call_close =
        section_->calls.empty() ? std::string_view() : trim(section_->calls.front().back().text);
    if (call_close.size() >= shortest_close)
        broken_ends_.add(call_close);
    call_closes_ = broken_ends_.size();
    for (std::size_t i = 0; i < content_markers_.size(); ++i) {
        if (meanings_[i].kind != Meaning::Kind::hidden && meanings_[i].kind != Meaning::Kind::reasoning_close)
            broken_ends_.add(content_markers_[i]);
    }
}

/// Looks for the end of a broken call: the section's or the call's close, or the next marker.
OutputMachine::Progress OutputMachine::read_broken_call() {
    const MarkerMatch found = broken_ends_.find(input_.rest(), input_.more());
    input_.skip(found.offset);
    if (!found.marker)
        return Progress::wait;
    if (*found.marker < call_closes_)
        input_.skip(broken_ends_[*found.marker].size());
    out_.break_call(input_.between(retained_, input_.offset()));
    ++section_calls_;
    if (*found.marker >= section_closes_ && *found.marker < call_closes_) {
        state_ = State::section;
        retain_from_here();
    } else {
        leave_section();
    }
    return Progress::again;
}

Result<Parser> Parser::create(const Syntax& syntax, const ParserOptions& options) {
    ETNA_TRY(auto tools, Tools::create(options.tools));
    return Parser(std::make_unique<OutputMachine>(syntax, std::move(tools), options));
}

Parser::Parser(std::unique_ptr<OutputMachine> machine) : machine_(std::move(machine)) {}
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
