#pragma once

#include "server/api/answer_services.hpp"
#include "server/kv_events/publisher.hpp"
#include "server/observe/device_list.hpp"
#include "server/observe/request_journal.hpp"
#include "server/observe/throughput.hpp"

#include <chrono>

namespace etna::server {

namespace batch {
class Batches;
}
namespace responses {
class RunningResponses;
}
namespace tracing {
class SpanExporter;
}

/// The services of all routes, of which each floor is given its own. Thread-safe.
struct Service : AnswerServices {
    responses::RunningResponses* running_responses = nullptr; ///< borrowed; set before the first request
    batch::Batches* batches = nullptr;               ///< borrowed; null: no files and batches are stored
    const kv_events::Publisher* kv_events = nullptr; ///< borrowed; null: the caches are not published
    tracing::SpanExporter* exporter = nullptr;       ///< borrowed; null: requests are not traced
    RequestJournal journal = {};
    Throughput throughput = Throughput(); ///< recorded while the server runs
    DeviceList devices = {};
    std::chrono::system_clock::time_point started = std::chrono::system_clock::now();
};

} // namespace etna::server
