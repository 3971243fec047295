// The sections of calls of an OutputMachine: from the opening marker, if there is one, to the end.

#include "core/output/output_machine.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace etna::output {
namespace {

bool is_code(const Pattern& pattern) {
    return pattern.front().field == Field::code;
}

/// Minimum size of a closing text that ends a broken call; a shorter one also occurs inside calls.
constexpr std::size_t shortest_close = 4;

/// Maximum size of a section that must be complete before it is known to hold calls, and maximum sum of the
/// texts that are read twice because they proved to hold none: more of either is not looked for.
constexpr std::size_t max_attempt_bytes = std::size_t{1} << 20;

constexpr std::size_t max_language_bytes = 16; ///< name of a language after a fence

/// Whether a section without an opening marker may start with this byte.
bool may_open(const Section& section, char first) {
    if (first == '[')
        return section.brackets != Brackets::none;
    const PatternPart& part = section.calls.front().front();
    const bool is_object = part.field == Field::object;
    return section.brackets != Brackets::required &&
           (is_object ? first == '{' : is_function_name({&first, 1}));
}

/// Whether the section has no tags: nothing, or a fence, opens it.
bool is_bare(const Section& section) {
    return section.open.empty() || is_fence(section.open.front());
}

/// Size of the first character.
std::size_t character_bytes(std::string_view text) {
    std::size_t size = 1;
    while (size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80)
        ++size;
    return size;
}

} // namespace

/// Whether the answer's sections may be of this kind here. A model whose own calls have tags writes bare
/// ones, or blocks of code, at the start of an answer; after other text it quotes them.
bool OutputMachine::is_recognised(const Section& section) const {
    if (section.origin == Origin::own)
        return true;
    const bool has_tags =
        std::none_of(syntax_.sections.begin(), syntax_.sections.end(),
                     [](const Section& one) { return one.origin == Origin::own && is_bare(one); });
    return !has_strict_calls_ && (at_span_start_ || !has_tags || !is_bare(section));
}

/// Whether reasoning ends inside the attempt so far: then the model only drafts the call.
bool OutputMachine::ends_reasoning() const {
    const std::string_view text = input_.between(attempt_.begin, input_.offset());
    for (std::size_t i = 0; i < reasoning_markers_.size(); ++i) {
        if (reasoning_meanings_[i].kind == Meaning::Kind::reasoning_close &&
            text.find(reasoning_markers_[i]) != std::string_view::npos)
            return true;
    }
    return false;
}

/// Returns the first section from index `first` on that may open here with this marker; empty: without one.
std::optional<std::size_t> OutputMachine::find_section(std::size_t first, std::string_view marker,
                                                       State before) const {
    const bool may_be_block = before == State::content && !in_block_ && (at_span_start_ || is_line_blank_);
    if (reread_bytes_ > max_attempt_bytes)
        return std::nullopt;
    for (std::size_t i = first; i < syntax_.sections.size(); ++i) {
        const Section& section = syntax_.sections[i];
        const bool has_marker =
            marker.empty() ? section.open.empty() && may_open(section, input_.rest().front())
                           : std::any_of(section.open.begin(), section.open.end(),
                                         [marker](std::string_view open) { return trim(open) == marker; });
        const bool is_inline_fence = is_fence(marker) && section.origin == Origin::foreign && !may_be_block;
        if (has_marker && !is_inline_fence && is_recognised(section))
            return i;
    }
    return std::nullopt;
}

/// Begins a section without an opening marker, if there may be one here.
bool OutputMachine::begin_unmarked() {
    const char first = input_.rest().front();
    if (tools_.empty() || (!at_span_start_ && line_starts_.find(first) == std::string_view::npos))
        return false;
    const auto section = find_section(0, {}, State::content);
    if (section)
        begin_attempt({.lacks = {}, .before = State::content, .section = *section, .marker = {}, .begin = 0});
    return section.has_value();
}

bool OutputMachine::begin_marked(std::size_t first, std::string_view marker, State before) {
    const auto section = find_section(first, marker, before);
    if (section)
        begin_attempt({.lacks = {}, .before = before, .section = *section, .marker = marker, .begin = 0});
    return section.has_value();
}

/// Begins an attempt at the read position. It needs the more proof, the less its opening tells.
void OutputMachine::begin_attempt(const Attempt& attempt) {
    const Section& section = syntax_.sections[attempt.section];
    const bool streams =
        section.origin == Origin::own && at_span_start_ && section.calls.front().front().field != Field::name;
    attempt_ = attempt;
    attempt_.begin = input_.offset();
    if (attempt.before == State::reasoning) {
        attempt_.lacks = Proof::call_done;
    } else if (attempt.marker.empty()) {
        attempt_.lacks = streams ? Proof::call_named : Proof::section_done;
    } else {
        attempt_.lacks = section.origin == Origin::own ? Proof::call_begun : Proof::section_done;
    }
    retain_from_here();
    out_.hold();
    if (attempt_.lacks != Proof::call_named)
        out_.add_marker();
    input_.skip(attempt.marker.size());
    enter_section(section);
}

void OutputMachine::prove() {
    attempt_.lacks = Proof::none;
    out_.release();
}

/// Reads the text of an attempt again: as another section that opens in the same way, else as text.
void OutputMachine::reject() {
    const Attempt last = std::exchange(attempt_, {});
    const bool opens_block = is_fence(last.marker) && (at_span_start_ || is_line_blank_);
    out_.discard();
    reread_bytes_ += input_.offset() - last.begin;
    input_.seek(last.begin);
    state_ = last.before;
    retained_ = not_retained;
    if (const auto next = find_section(last.section + 1, last.marker, last.before)) {
        begin_attempt(
            {.lacks = {}, .before = last.before, .section = *next, .marker = last.marker, .begin = 0});
        return;
    }
    const std::size_t bytes = last.marker.empty() ? character_bytes(input_.rest()) : last.marker.size();
    if (last.before == State::reasoning) {
        out_.text(EventKind::reasoning, input_.take(bytes));
    } else {
        take_content(bytes);
        in_block_ = opens_block;
    }
}

/// Whether a section that must be complete is so where it ends. Without a marker, its last line holds nothing
/// but calls.
bool OutputMachine::is_proven_by_end() const {
    if (attempt_.lacks == Proof::call_begun)
        return true;
    if (attempt_.lacks != Proof::section_done || section_calls_ == 0)
        return false;
    const auto after = input_.between(calls_end_, input_.offset());
    const bool ends_line = input_.rest().empty() || after.find('\n') != std::string_view::npos;
    return input_.offset() - attempt_.begin <= max_attempt_bytes && (!section_->open.empty() || ends_line);
}

/// Precondition: retained_ is the offset of the section's first marker or byte.
void OutputMachine::enter_section(const Section& section) {
    state_ = State::section;
    section_ = &section;
    section_calls_ = 0;
    bracketed_ = false;
    brackets_closed_ = false;
    separated_ = false;
    fenced_ = false;
}

void OutputMachine::leave_section() {
    if (attempt_.lacks != Proof::none && !is_proven_by_end())
        return reject();
    if (attempt_.lacks != Proof::none)
        prove();
    out_.add_marker();
    if (section_ == &message_section_) {
        enter_message_text(State::dropped);
    } else {
        enter_content();
    }
}

/// Leaves a section without an opening marker in which something follows the last call.
void OutputMachine::leave_unmarked_section() {
    out_.discard();
    input_.seek(retained_);
    enter_content();
    at_span_start_ = false;
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
        calls_end_ = input_.offset();
        return Match::yes;
    }
    if (const Match found = section_fence(); found != Match::no)
        return found;
    if (!section_->close.empty()) {
        const Match close = input_.match(section_->close);
        if (close == Match::yes) {
            input_.skip(trim(section_->close).size());
            leave_section();
        }
        if (close != Match::no)
            return close;
    }
    const std::string_view separator = bracketed_ ? "," : trim(section_->separator);
    if (separator.empty() || section_calls_ == 0 || brackets_closed_ || separated_)
        return Match::no;
    const Match found = input_.match(separator);
    if (found == Match::yes) {
        input_.skip(separator.size());
        separated_ = true;
    }
    return found;
}

/// Consumes a code fence around the JSON of a section between tags.
Match OutputMachine::section_fence() {
    const bool may_open = section_calls_ == 0 && !bracketed_ && !fenced_;
    const bool may_close = section_calls_ > 0 && !bracketed_ && fenced_;
    const bool has_objects =
        std::any_of(section_->calls.begin(), section_->calls.end(),
                    [](const Pattern& pattern) { return pattern.front().field == Field::object; });
    if (!has_objects || !is_tag(section_->close) || !(may_open || may_close))
        return Match::no;
    const Match found = input_.match(fence);
    if (found != Match::yes)
        return found;
    const auto language = input_.rest().substr(fence.size(), max_language_bytes);
    const auto end = std::min(language.find_first_of("\n \r[{<"), language.size());
    if (may_open && end == language.size() && end < max_language_bytes && input_.more() == More::may_come)
        return Match::partial;
    input_.skip(fence.size() + (may_open ? end : 0));
    fenced_ = may_open;
    return Match::yes;
}

Match OutputMachine::choose_call() {
    if (brackets_closed_)
        return Match::no;
    for (const auto& pattern : section_->calls) {
        if (is_code(pattern) && attempt_.lacks == Proof::call_done)
            continue; // any text is a program
        const Match begins = may_begin(pattern);
        if (begins == Match::yes && attempt_.lacks == Proof::call_begun)
            prove();
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
        return static_cast<unsigned char>(first) < 0x80 ? is_function_name({&first, 1})
                                                        : tools_.may_offer({&first, 1});
    }
}

/// Handles a section that continues with something other than a call, or ends.
OutputMachine::Progress OutputMachine::read_other_than_call() {
    const bool is_end = input_.rest().empty();
    if (section_ == &message_section_ && section_calls_ == 0)
        return read_empty_message();
    if (section_calls_ > 0 && (!bracketed_ || is_end)) {
        const MarkerMatch found =
            content_markers_.match(input_.rest(), input_.more()); // the section's close is missing
        if (found.offset == 0 && !found.marker && !is_end)
            return Progress::wait;
        if (found.marker || is_end) {
            leave_section();
            return Progress::again;
        }
        if (input_.rest().find_first_of("}])") == 0) { // skip a surplus closing bracket
            input_.skip(1);
            return Progress::again;
        }
    }
    if (is_end && section_calls_ == 0)
        return Progress::wait;
    if (attempt_.lacks != Proof::none) {
        reject();
    } else if (section_->open.empty() && section_ != &message_section_) {
        leave_unmarked_section();
    } else {
        enter_broken_call();
    }
    return Progress::again;
}

/// Handles a message to a function that does not begin with a call: an empty one has no arguments.
OutputMachine::Progress OutputMachine::read_empty_message() {
    const MarkerMatch found = content_markers_.match(input_.rest(), input_.more());
    const bool is_end = input_.rest().empty();
    if (found.offset == 0 && !found.marker && !is_end)
        return Progress::wait;
    const auto kind = found.marker ? meanings_[*found.marker].kind : Meaning::Kind::hidden;
    const bool is_empty =
        is_end || kind == Meaning::Kind::message_open || kind == Meaning::Kind::message_close;
    if (!is_empty) {
        enter_broken_call();
        return Progress::again;
    }
    out_.begin_call(function_, {});
    out_.arguments("{}");
    out_.end_call({});
    ++section_calls_;
    leave_section();
    return Progress::again;
}

void OutputMachine::enter_call(const Pattern& pattern) {
    using Certainty = CallReader::Certainty;
    const auto& calls = section_->calls;
    const bool may_be_code = section_ != &message_section_ && !is_code(pattern) &&
                             std::any_of(calls.begin(), calls.end(), is_code);
    const bool must_be_held = attempt_.lacks == Proof::call_done || attempt_.lacks == Proof::section_done;
    const bool is_unmarked = section_->open.empty() && section_ != &message_section_;
    state_ = State::call;
    separated_ = false;
    call_.start(
        {.section = *section_,
         .pattern = pattern,
         .certainty = must_be_held  ? Certainty::held
                      : is_unmarked ? Certainty::needs_start
                      : may_be_code ? Certainty::needs_end
                                    : Certainty::certain,
         .function = section_ == &message_section_ ? std::string_view(function_) : std::string_view()});
}

OutputMachine::Progress OutputMachine::read_call() {
    const CallReader::Progress progress = call_.step();
    if (attempt_.lacks == Proof::call_named && !call_.is_tentative())
        attempt_.lacks = Proof::none;
    const bool is_too_long = input_.offset() - attempt_.begin > max_attempt_bytes;
    if (attempt_.lacks == Proof::call_done && call_.is_complete() && ends_reasoning()) {
        reject();
        return Progress::again;
    }
    if (attempt_.lacks == Proof::call_done && call_.is_complete() && !is_too_long)
        prove();
    if (attempt_.lacks > Proof::call_named && is_too_long) {
        reject();
        return Progress::again;
    }
    switch (progress) {
    case CallReader::Progress::wait:
        return Progress::wait;
    case CallReader::Progress::again:
        break;
    case CallReader::Progress::ended:
        ++section_calls_;
        state_ = State::section;
        calls_end_ = input_.offset();
        if (attempt_.lacks == Proof::none)
            retain_from_here();
        break;
    case CallReader::Progress::failed:
        if (!retry_tentative_call())
            enter_broken_call();
        break;
    }
    return Progress::again;
}

/// Rereads text that started like a call but is not one, as content, reasoning or a program. Returns false if
/// the text can only be a call.
bool OutputMachine::retry_tentative_call() {
    if (attempt_.lacks != Proof::none) {
        reject();
        return true;
    }
    if (state_ != State::call || !call_.is_tentative())
        return false;
    if (section_->open.empty()) {
        leave_unmarked_section();
    } else {
        out_.discard();
        input_.seek(call_.begin());
        enter_call(section_->calls.back());
    }
    return true;
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
        using Kind = Meaning::Kind;
        const auto& [kind, index] = meanings_[i];
        const bool is_own = kind == Kind::section && syntax_.sections[index].origin == Origin::own;
        if (is_own || kind == Kind::message_open || kind == Kind::message_close ||
            kind == Kind::reasoning_open)
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

} // namespace etna::output
