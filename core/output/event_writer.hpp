#pragma once

#include "core/output/event.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::output {

/// Produces events: joins adjacent text, drops white space next to markers, counts calls, and holds back the
/// events of tentative calls.
class EventWriter {
public:
    enum class Before { nothing, marker };
    explicit EventWriter(Before before) { at_.after_marker = before == Before::marker; }

    /// Content or reasoning, as the model wrote it.
    void text(EventKind kind, std::string_view text);

    /// Records a protocol marker: drops the white space around it; the next text starts a new span.
    void add_marker();

    /// Ends a message: the white space before the marker belongs to the message if nothing follows.
    void end_message();

    /// Whether content other than white space has been written.
    [[nodiscard]] bool has_content() const { return at_.has_content; }

    /// The white space after the content so far; content, unless a marker follows. Empty outside content.
    [[nodiscard]] std::string_view held_space() const;

    /// Bytes of white space that may become content.
    [[nodiscard]] std::size_t held_bytes() const {
        return at_.space_kind == EventKind::content ? at_.space.size() : 0;
    }

    /// Emits the held-back trailing white space: no marker follows it.
    void flush_space();

    /// Records the start of reasoning, which may prove to be empty.
    void begin_reasoning() { at_.has_opened_reasoning = true; }

    /// Records the end of reasoning that was never opened. The content before it becomes reasoning only if
    /// neither reasoning, empty or not, nor a call precedes it.
    void end_unopened_reasoning();

    void begin_call(std::string_view name, std::string_view id);
    /// Holds a closing brace back until more follows or the call ends, so that the arguments of a broken call
    /// are never complete.
    void arguments(std::string_view json);
    void end_call(std::string_view late_id);
    void break_call(std::string_view raw); ///< ends the open call, or adds a broken call without call_started

    /// Holds back subsequent events until release() emits them, or discard() discards them and everything
    /// else since the first hold(). Does nothing if events are held back.
    void hold();
    void release();
    void discard();

    [[nodiscard]] std::span<const Event> events() const { return events_; }
    void clear() { events_.clear(); }

private:
    void add(EventKind kind, std::string_view text);
    std::vector<Event>& target() { return holding_ ? held_ : events_; }

    /// What the next event depends on.
    struct Position {
        std::string space; ///< pending white space, emitted only if text follows
        EventKind space_kind = EventKind::content;
        std::string last_space;    ///< at the end of a message, emitted only if nothing follows
        bool after_marker = false; ///< the next span follows a marker
        bool in_span = false;
        bool has_content = false;
        bool has_reasoning = false;
        bool has_opened_reasoning = false;
        std::string closing_brace; ///< of the open call's arguments, with white space after it
        std::size_t calls = 0;     ///< completed or broken
    };

    std::vector<Event> events_;
    std::vector<Event> held_;
    Position at_;
    Position before_hold_;
    bool holding_ = false;
};

} // namespace etna::output
