#include "core/output/event_writer.hpp"

#include "core/output/markers.hpp"

#include <utility>

namespace etna::output {

void EventWriter::text(EventKind kind, std::string_view text) {
    at_.space_kind = kind;
    const auto last = text.find_last_not_of(white_space);
    if (last == std::string_view::npos) {
        at_.space += text;
        return;
    }
    at_.last_space.clear();
    std::string piece;
    if (!at_.in_span) {
        const auto first = text.find_first_not_of(white_space);
        at_.space += text.substr(0, first);
        text.remove_prefix(first);
        if (at_.after_marker) { // white space on the text's own line is its indentation
            const auto line_end = at_.space.rfind('\n');
            at_.space.erase(0, line_end == std::string::npos ? at_.space.size() : line_end + 1);
        }
        bool& has_some = kind == EventKind::content ? at_.has_content : at_.has_reasoning;
        if (has_some)
            piece = "\n\n";
        has_some = true;
        at_.in_span = true;
    }
    piece += at_.space;
    const auto end = text.find_last_not_of(white_space) + 1;
    piece += text.substr(0, end);
    at_.space = text.substr(end);
    add(kind, piece);
}

void EventWriter::add_marker() {
    at_.space.clear();
    at_.in_span = false;
    at_.after_marker = true;
}

void EventWriter::end_message() {
    std::string last =
        at_.in_span && at_.space_kind == EventKind::content ? std::move(at_.space) : std::string();
    add_marker();
    at_.last_space = std::move(last);
}

std::string_view EventWriter::held_space() const {
    const bool is_content = at_.in_span && at_.space_kind == EventKind::content;
    return is_content ? std::string_view(at_.space) : std::string_view();
}

void EventWriter::flush_space() {
    if (!at_.last_space.empty()) {
        add(EventKind::content, at_.last_space);
    } else if (!at_.space.empty() && (at_.in_span || !at_.after_marker)) {
        add(at_.space_kind, at_.space);
    }
    at_.last_space.clear();
    at_.space.clear();
}

void EventWriter::end_unopened_reasoning() {
    if (at_.has_content && !at_.has_reasoning && !at_.has_opened_reasoning && at_.calls == 0) {
        target().push_back(
            {.kind = EventKind::content_was_reasoning, .call = 0, .text = {}, .name = {}, .id = {}});
        at_.has_content = false;
    }
    at_.has_reasoning = true;
    add_marker();
}

void EventWriter::begin_call(std::string_view name, std::string_view id) {
    at_.last_space.clear();
    at_.closing_brace.clear();
    target().push_back({.kind = EventKind::call_started,
                        .call = at_.calls,
                        .text = {},
                        .name = std::string(name),
                        .id = std::string(id)});
}

void EventWriter::arguments(std::string_view json) {
    const std::string text = std::exchange(at_.closing_brace, {}) + std::string(json);
    const std::size_t last = text.find_last_not_of(white_space);
    const std::size_t end = last != std::string::npos && text[last] == '}' ? last : text.size();
    at_.closing_brace = text.substr(end);
    if (end > 0)
        add(EventKind::call_arguments, std::string_view(text).substr(0, end));
}

void EventWriter::end_call(std::string_view late_id) {
    if (!at_.closing_brace.empty())
        add(EventKind::call_arguments, std::exchange(at_.closing_brace, {}));
    target().push_back({.kind = EventKind::call_done,
                        .call = at_.calls,
                        .text = {},
                        .name = {},
                        .id = std::string(late_id)});
    ++at_.calls;
}

void EventWriter::break_call(std::string_view raw) {
    target().push_back(
        {.kind = EventKind::call_broken, .call = at_.calls, .text = std::string(raw), .name = {}, .id = {}});
    ++at_.calls;
}

void EventWriter::hold() {
    if (!holding_)
        before_hold_ = at_;
    holding_ = true;
}

void EventWriter::release() {
    events_.insert(events_.end(), held_.begin(), held_.end());
    held_.clear();
    holding_ = false;
}

void EventWriter::discard() {
    if (holding_)
        at_ = std::move(before_hold_);
    held_.clear();
    holding_ = false;
}

void EventWriter::add(EventKind kind, std::string_view text) {
    auto& events = target();
    if (!events.empty() && events.back().kind == kind) {
        events.back().text += text;
    } else {
        events.push_back({.kind = kind,
                          .call = kind == EventKind::call_arguments ? at_.calls : 0,
                          .text = std::string(text),
                          .name = {},
                          .id = {}});
    }
}

} // namespace etna::output
