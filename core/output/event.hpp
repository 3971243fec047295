#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace etna::output {

enum class EventKind : uint8_t {
    content,               ///< `text` for the user
    reasoning,             ///< `text` of the model's reasoning
    content_was_reasoning, ///< a closing marker without an opening one: all content before it was
                           ///< reasoning
    call_started,          ///< `call`, `name`, `id` (empty: not known yet)
    call_arguments,        ///< `call`, `text`: the next final part of the arguments' JSON
    call_done,   ///< `call`, `id` if it followed call_started: the arguments are one complete JSON object
    call_broken, ///< `call`, `text`: the model's text; call_started may or may not have been sent, and
                 ///< call_arguments that are not complete JSON
};

/// One parsed piece of the output. Texts are complete UTF-8 characters and never empty.
struct Event {
    EventKind kind = EventKind::content;
    std::size_t call = 0; ///< index of the call from 0, broken ones included
    std::string text = {};
    std::string name = {};
    std::string id = {};

    bool operator==(const Event&) const = default;
};

struct Call {
    std::string name = {};
    std::string id = {};
    std::string arguments = {}; ///< a JSON object

    bool operator==(const Call&) const = default;
};

/// A complete turn of the model.
struct Output {
    std::string content = {};
    std::string reasoning = {};
    std::vector<Call> calls;         ///< completed calls
    std::vector<std::string> broken; ///< truncated or malformed calls, as the model wrote them

    bool operator==(const Output&) const = default;
};

/// Accumulates events into an Output. Not thread-safe.
class Collector {
public:
    void add(std::span<const Event> events);

    /// Returns the output up to here, without unfinished calls.
    [[nodiscard]] const Output& output() const { return output_; }

private:
    void add(const Event& event);

    Output output_;
    Call open_; ///< the open call; calls never overlap
};

} // namespace etna::output
