#include "server/faces/responses/background.hpp"

#include "server/api/persistence.hpp"
#include "server/observe/log_line.hpp"
#include "server/observe/tracing/span_exporter.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace etna::server::responses {
namespace {

/// The record of a background response, which outlives its request.
class BackgroundRecord {
public:
    BackgroundRecord(const HttpRequest& request, const RoutedRequest& routed)
        : method_(request.method), path_(request.path), remote_address_(request.remote_address),
          traceparent_(request.header("traceparent")), route_(routed.traced_route) {}

    /// Writes the log line, the journal's entry and the spans, from the request's arrival to now.
    void write(const Services& services, const ResponseJob& job) const {
        constexpr double ms_per_s = 1e3;
        const std::chrono::duration<double> elapsed(job.active.elapsed_s());
        const auto begin = std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::system_clock::now().time_since_epoch() - elapsed);
        const RequestSummary summary = {.method = method_,
                                        .path = path_,
                                        .route = route_,
                                        .elapsed_ms = elapsed.count() * ms_per_s,
                                        .remote_address = remote_address_,
                                        .request_id = job.active.request_id(),
                                        .answer = job.active.log()};
        const auto began_unix_ns = static_cast<uint64_t>(begin.count());
        services.answers.log(
            background_line(services.answers.options.log_format, summary.request_id, summary.answer));
        services.journal.add(summary, began_unix_ns);
        if (services.exporter != nullptr && !route_.empty())
            services.exporter->add(tracing::spans_of(summary, traceparent_, began_unix_ns));
    }

private:
    std::string method_, path_, remote_address_, traceparent_;
    std::string_view route_; ///< borrowed from the router
};

/// The writer of a stream that no client reads: clients follow the response by its id.
class NoClient final : public HttpWriter {
public:
    bool write(std::string_view /*bytes*/) override { return true; }
    PeerState peer() override { return PeerState::open; }
};

} // namespace

bool run_in_background(const std::shared_ptr<ResponseJob>& job, api::AnswerStart start,
                       const Services& services, const HttpRequest& request, const RoutedRequest& routed) {
    return services.running.spawn(job->active.client(),
                                  [job, start, services, record = BackgroundRecord(request, routed)] {
                                      NoClient client;
                                      EventStream stream(client, services.answers.options.keep_alive);
                                      api::send_answer(*job, start, stream);
                                      record.write(services, *job);
                                  });
}

} // namespace etna::server::responses
