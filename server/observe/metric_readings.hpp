#pragma once

#include "server/kv_events/publisher.hpp"
#include "server/models/models.hpp"
#include "server/observe/metrics.hpp"
#include "server/observe/tracing/span_exporter.hpp"

#include <vector>

namespace etna::server {

/// The metrics that are sampled at scrape time: the build, the models, and the queues of the publisher and of
/// the exporter. Null: there is none.
std::vector<Metrics::Reading> metric_readings(Models& models, const kv_events::Publisher* publisher,
                                              const tracing::SpanExporter* exporter);

} // namespace etna::server
