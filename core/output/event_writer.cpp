#include "core/output/event_writer.hpp"

#include "core/output/markers.hpp"

#include <utility>

namespace etna::output {

void EventWriter::text(EventKind kind, std::string_view text) {
    space_kind_ = kind;
    const auto last = text.find_last_not_of(white_space);
    if (last == std::string_view::npos) {
        space_ += text;
        return;
    }
    last_space_.clear();
    std::string piece;
    if (!in_span_) {
        const auto first = text.find_first_not_of(white_space);
        space_ += text.substr(0, first);
        text.remove_prefix(first);
        if (after_marker_) { // white space on the text's own line is its indentation
            const auto line_end = space_.rfind('\n');
            space_.erase(0, line_end == std::string::npos ? space_.size() : line_end + 1);
        }
        bool& has_some = kind == EventKind::content ? has_content_ : has_reasoning_;
        if (has_some)
            piece = "\n\n";
        has_some = true;
        in_span_ = true;
    }
    piece += space_;
    const auto end = text.find_last_not_of(white_space) + 1;
    piece += text.substr(0, end);
    space_ = text.substr(end);
    add(kind, piece);
}

void EventWriter::add_marker() {
    space_.clear();
    in_span_ = false;
    after_marker_ = true;
}

void EventWriter::end_message() {
    std::string last = in_span_ && space_kind_ == EventKind::content ? std::move(space_) : std::string();
    add_marker();
    last_space_ = std::move(last);
}

void EventWriter::flush_space() {
    if (!last_space_.empty()) {
        add(EventKind::content, last_space_);
    } else if (!space_.empty() && (in_span_ || !after_marker_)) {
        add(space_kind_, space_);
    }
    last_space_.clear();
    space_.clear();
}

void EventWriter::end_unopened_reasoning() {
    if (has_content_ && !has_reasoning_ && calls_ == 0) {
        target().push_back(
            {.kind = EventKind::content_was_reasoning, .call = 0, .text = {}, .name = {}, .id = {}});
        has_content_ = false;
    }
    has_reasoning_ = true;
    add_marker();
}

void EventWriter::begin_call(std::string_view name, std::string_view id) {
    last_space_.clear();
    closing_brace_.clear();
    target().push_back({.kind = EventKind::call_started,
                        .call = calls_,
                        .text = {},
                        .name = std::string(name),
                        .id = std::string(id)});
}

void EventWriter::arguments(std::string_view json) {
    const std::string text = std::exchange(closing_brace_, {}) + std::string(json);
    const std::size_t last = text.find_last_not_of(white_space);
    const std::size_t end = last != std::string::npos && text[last] == '}' ? last : text.size();
    closing_brace_ = text.substr(end);
    if (end > 0)
        add(EventKind::call_arguments, std::string_view(text).substr(0, end));
}

void EventWriter::end_call(std::string_view late_id) {
    if (!closing_brace_.empty())
        add(EventKind::call_arguments, std::exchange(closing_brace_, {}));
    target().push_back(
        {.kind = EventKind::call_done, .call = calls_, .text = {}, .name = {}, .id = std::string(late_id)});
    ++calls_;
}

void EventWriter::break_call(std::string_view raw) {
    target().push_back(
        {.kind = EventKind::call_broken, .call = calls_, .text = std::string(raw), .name = {}, .id = {}});
    ++calls_;
}

void EventWriter::hold() {
    holding_ = true;
}

void EventWriter::release() {
    events_.insert(events_.end(), held_.begin(), held_.end());
    held_.clear();
    holding_ = false;
}

void EventWriter::discard() {
    held_.clear();
    holding_ = false;
}

void EventWriter::add(EventKind kind, std::string_view text) {
    auto& events = target();
    if (!events.empty() && events.back().kind == kind) {
        events.back().text += text;
    } else {
        events.push_back({.kind = kind,
                          .call = kind == EventKind::call_arguments ? calls_ : 0,
                          .text = std::string(text),
                          .name = {},
                          .id = {}});
    }
}

} // namespace etna::output
