#include "core/output/event.hpp"

#include "core/output/markers.hpp"

#include <utility>

namespace etna::output {

void Collector::add(std::span<const Event> events) {
    for (const Event& event : events)
        add(event);
}

void Collector::add(const Event& event) {
    switch (event.kind) {
    case EventKind::content:
        output_.content += event.text;
        break;
    case EventKind::reasoning:
        output_.reasoning += event.text;
        break;
    case EventKind::content_was_reasoning:
        output_.reasoning = trim(std::exchange(output_.content, {}));
        break;
    case EventKind::call_started:
        open_ = {.name = event.name, .id = event.id, .arguments = {}};
        break;
    case EventKind::call_arguments:
        open_.arguments += event.text;
        break;
    case EventKind::call_done:
        if (!event.id.empty())
            open_.id = event.id;
        output_.calls.push_back(std::exchange(open_, {}));
        break;
    case EventKind::call_broken:
        output_.broken.push_back(event.text);
        open_ = {};
        break;
    }
}

} // namespace etna::output
