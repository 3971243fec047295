#include "core/generate/answer_text.hpp"

#include <algorithm>
#include <utility>

namespace etna::generate {
namespace {

bool is_continuation_byte(char byte) {
    constexpr unsigned char mask = 0xC0;
    constexpr unsigned char continuation = 0x80;
    return (static_cast<unsigned char>(byte) & mask) == continuation;
}

/// Returns the first character of a non-empty text.
std::string_view first_character(std::string_view text) {
    std::size_t size = 1;
    while (size < text.size() && is_continuation_byte(text[size]))
        ++size;
    return text.substr(0, size);
}

/// Whether the text of `next` extends that of `last`.
bool extends(const output::Event& last, const output::Event& next) {
    const bool is_text = next.kind == output::EventKind::content ||
                         next.kind == output::EventKind::reasoning ||
                         next.kind == output::EventKind::call_arguments;
    return is_text && last.kind == next.kind && last.call == next.call;
}

} // namespace

AnswerText::AnswerText(Options options, std::optional<output::Parser> parser)
    : options_(std::move(options)), parser_(std::move(parser)), matcher_(options_.stop) {}

std::span<const output::Event> AnswerText::push(std::string_view text, Stops stops) {
    events_.clear();
    if (matched())
        return events_;
    const bool has_stops = !options_.stop.empty() && stops == Stops::found;
    is_searching_ = has_stops && parser_ && options_.scope == StopScope::content;
    if (is_searching_) {
        for (std::string_view rest = text; !rest.empty() && !matched();) {
            const std::string_view character = first_character(rest);
            push_character(character);
            rest.remove_prefix(character.size());
        }
    } else if (has_stops) {
        push_searched(text);
    } else {
        bytes_ += text.size();
        final_bytes_ = bytes_;
        parse(text);
    }
    return events_;
}

/// Searches the text itself, before it is parsed.
void AnswerText::push_searched(std::string_view text) {
    bytes_ += text.size();
    const std::string_view safe = matcher_.push(text);
    final_bytes_ += safe.size();
    parse(safe);
    if (matched() && options_.matched == MatchedStop::included) {
        final_bytes_ = bytes_;
        parse(options_.stop[*matched()]);
    }
}

/// Searches the content in the text. One character at a time, so that the offset of each piece of content is
/// known.
void AnswerText::push_character(std::string_view character) {
    bytes_ += character.size();
    take(parser_->push(character));
    if (matched())
        return;
    const std::string_view space = options_.has_tools ? std::string_view() : parser_->held_space();
    if (matcher_.completes(space))
        return search(std::string(space), 0);
    const std::size_t undecided = parser_->undecided_bytes() + matcher_.held_bytes();
    final_bytes_ = std::max(final_bytes_, bytes_ - std::min(bytes_, undecided));
}

void AnswerText::take(std::span<const output::Event> events) {
    for (const output::Event& event : events) {
        if (matched())
            return;
        if (event.kind == output::EventKind::content && is_searching_) {
            search(event.text, parser_->undecided_bytes());
        } else {
            flush_matcher(); // no stop string spans other parts of the answer
            add(event);
        }
    }
}

/// `bytes_after`: of the text after `content`.
void AnswerText::search(std::string_view content, std::size_t bytes_after) {
    for (std::size_t i = 0; i < content.size(); ++i) {
        add_content(matcher_.push(content.substr(i, 1)));
        if (!matched())
            continue;
        const std::string& stop = options_.stop[*matched()];
        const bool is_included = options_.matched == MatchedStop::included;
        if (is_included)
            add_content(stop);
        const std::size_t removed = content.size() - i - 1 + bytes_after + stop.size();
        final_bytes_ = is_included ? bytes_ : std::max(final_bytes_, bytes_ - std::min(bytes_, removed));
        return;
    }
}

void AnswerText::parse(std::string_view text) {
    if (text.empty())
        return;
    if (parser_) {
        for (const output::Event& event : parser_->push(text))
            add(event);
    } else {
        add_content(text);
    }
}

std::span<const output::Event> AnswerText::finish(std::string_view end_marker, output::Ending ending) {
    events_.clear();
    if (matched() && is_searching_)
        return events_;
    if (!is_searching_) {
        const std::string rest(matcher_.flush());
        parse(rest);
    }
    if (parser_ && !end_marker.empty())
        take(parser_->push(end_marker));
    if (parser_)
        take(parser_->finish(ending));
    flush_matcher();
    if (!matched())
        final_bytes_ = bytes_;
    return events_;
}

void AnswerText::flush_matcher() {
    if (is_searching_)
        add_content(matcher_.flush());
}

void AnswerText::add_content(std::string_view text) {
    if (!text.empty())
        add({.kind = output::EventKind::content, .call = 0, .text = std::string(text), .name = {}, .id = {}});
}

void AnswerText::add(const output::Event& event) {
    switch (event.kind) {
    case output::EventKind::call_started:
        started_ = event;
        return;
    case output::EventKind::call_arguments:
    case output::EventKind::call_done:
        if (started_)
            events_.push_back(*std::exchange(started_, std::nullopt));
        break;
    case output::EventKind::call_broken:
        started_.reset();
        break;
    case output::EventKind::content:
    case output::EventKind::reasoning:
    case output::EventKind::content_was_reasoning:
        break;
    }
    if (!events_.empty() && extends(events_.back(), event)) {
        events_.back().text += event.text;
    } else {
        events_.push_back(event);
    }
}

} // namespace etna::generate
