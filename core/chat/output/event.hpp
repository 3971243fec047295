#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace etna::chat::output {

enum class EventKind : uint8_t {
    content,               ///< `text` for the user
    reasoning,             ///< `text` of the model's thought
    content_was_reasoning, ///< the end of reasoning came, and nothing had begun it: all content so far was
                           ///< reasoning
    call_begun,            ///< `call`, `name`, `id` (empty: the model gave none)
    call_arguments,        ///< `call`, `text`: more of the arguments' JSON, only what is certain
    call_done,   ///< `call`, `id` if it came after call_begun: the arguments are one whole JSON object
    call_broken, ///< `call`, `text`: what the model wrote; a call_begun may or may not have come before
};

/// A step of the output. Pieces of text are whole UTF-8 characters and never empty.
struct Event {
    EventKind kind = EventKind::content;
    std::size_t call = 0; ///< calls are counted from 0, broken ones too
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

/// A whole turn of the model.
struct Output {
    std::string content = {};
    std::string reasoning = {};
    std::vector<Call> calls;         ///< finished ones
    std::vector<std::string> broken; ///< calls that were cut off or are no call, as the model wrote them

    bool operator==(const Output&) const = default;
};

/// Adds events up. Not thread-safe.
class Collector {
public:
    void add(std::span<const Event> events);

    /// What has come so far, without calls that are not finished.
    [[nodiscard]] const Output& output() const { return output_; }

private:
    void add(const Event& event);

    Output output_;
    Call open_; ///< the call that has begun; calls never overlap
};

} // namespace etna::chat::output
