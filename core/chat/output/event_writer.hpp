#pragma once

#include "core/chat/output/event.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::chat::output {

/// Makes events: joins neighbouring pieces, leaves out white space at marks, counts calls, and holds back the
/// events of a call that may turn out to be none.
class EventWriter {
public:
    enum class Before { nothing, mark };
    explicit EventWriter(Before before) : after_mark_(before == Before::mark) {}

    /// Content or reasoning, as the model wrote it.
    void text(EventKind kind, std::string_view text);

    /// Protocol stands here: white space around it goes, and the next text begins a stretch of its own.
    void mark();

    /// A message ends: the white space in front is its own, if nothing comes behind it.
    void end_message();

    /// Whether there has been content other than white space.
    [[nodiscard]] bool has_content() const { return has_content_; }

    /// The white space that came last is no mark's.
    void keep_space();

    /// Reasoning ended that nothing had begun. Only the first thing in an output can be reasoning.
    void end_unopened_reasoning();

    void begin_call(std::string_view name, std::string_view id);
    void arguments(std::string_view json);
    void end_call(std::string_view late_id);
    void break_call(std::string_view raw); ///< ends the call that has begun, or is one that never did

    /// Events from here on wait: release() lets them go, take_back() forgets them.
    void hold();
    void release();
    void take_back();

    [[nodiscard]] std::span<const Event> events() const { return events_; }
    void clear() { events_.clear(); }

private:
    void add(EventKind kind, std::string_view text);
    std::vector<Event>& target() { return holding_ ? held_ : events_; }

    std::vector<Event> events_;
    std::vector<Event> held_;
    bool holding_ = false;
    std::string space_; ///< white space, content only if text follows
    EventKind space_kind_ = EventKind::content;
    std::string last_space_; ///< at the end of a message, content only if nothing follows
    bool after_mark_;        ///< of the stretch that has not begun yet
    bool in_stretch_ = false;
    bool has_content_ = false;
    bool has_reasoning_ = false;
    std::size_t calls_ = 0; ///< finished or broken
};

} // namespace etna::chat::output
