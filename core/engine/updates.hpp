#pragma once

#include "core/engine/request.hpp"
#include "core/engine/sequence.hpp"

#include <cstdint>
#include <utility>
#include <vector>

namespace etna::engine {

/// An event for a request's stream.
struct Update {
    RequestId request = 0;
    uint32_t answer = 0; ///< index of the answer of a beam search; 0 for others
    Event event;
};
using Updates = std::vector<Update>;

/// Appends an event for the stream of a request's answer.
inline void emit(Updates& updates, RequestId request, uint32_t answer, Event event) {
    Update& update = updates.emplace_back();
    update.request = request;
    update.answer = answer;
    update.event = std::move(event);
}

} // namespace etna::engine
