#include "server/app/server.hpp"

#include "server/app/endpoints.hpp"
#include "server/http/request_id.hpp"
#include "server/observe/log_line.hpp"

#include <algorithm>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace etna::server {
namespace {

constexpr std::chrono::milliseconds stop_poll{100};
constexpr std::chrono::milliseconds cancel_time{3'000}; ///< for cancelled answers to end after a step
constexpr std::chrono::milliseconds abort_time{3'000};  ///< to notice a broken connection
constexpr std::chrono::milliseconds exit_time{5'000};   ///< for the shutdown after run()

HttpReply refusal(int status, std::string_view problem) {
    ApiError error = {.status = status, .message = std::string(problem)};
    if (status >= 500)
        error.type = "server_error";
    if (status == 503) // all handlers are busy
        error.retry_after_s = 1;
    return reply_of(error);
}

/// A request refused before the router also gets an id, a log line and a metrics count.
HttpResponse refused_response(Service& service, const Refusal& refused) {
    HttpReply reply = refusal(refused.status, refused.problem);
    const HttpRequest& request = refused.request;
    const std::string id = request_id_of(request);
    reply.headers["x-request-id"] = id;
    service.metrics.refuse({}, refused.status);
    service.log(request_line(service.options.log_format, {.method = request.method,
                                                          .path = request.path,
                                                          .status = refused.status,
                                                          .remote_address = request.remote_address,
                                                          .request_id = id,
                                                          .answer = reply.log,
                                                          .problem = refused.problem}));
    return response_of(std::move(reply));
}

} // namespace

Server::Server(const ServerOptions& options, Models& models, std::function<void(std::string_view line)> log)
    : options_(options),
      service_{{.options = options.service, .models = models, .metrics = metrics_, .log = std::move(log)}},
      router_(service_, all_routes(options.service), write_unrouted_error) {
    service_.kv_events = options.kv_events;
}

Result<std::unique_ptr<Server>> Server::open(const ServerOptions& options, Models& models,
                                             std::function<void(std::string_view line)> log) {
    std::unique_ptr<Server> server(new Server(options, models, std::move(log)));
    ETNA_TRY(server->persistence_, open_persistence(options.persistence, [&](std::string_view what) {
                 server->service_.log(event_line(options.service.log_format, what));
             }));
    server->service_.persistence = server->persistence_.get();
    server->service_.running_responses = &server->running_responses_;
    ETNA_CHECK(server->open_exporter());
    server->open_batches();
    ETNA_CHECK(server->open_listeners());
    return server;
}

/// Opens the files and batches next to the store's file, whose lock excludes other processes. A store without
/// a file has neither.
void Server::open_batches() {
    if (persistence_->file.empty())
        return;
    const uint32_t answers = service_.options.answers_at_once;
    auto opened = batch::Batches::open(persistence_->file.string() + ".files",
                                       {.limits = options_.persistence.batches,
                                        .line_bytes_max = options_.service.body_bytes_max,
                                        .lines_at_once = batch::lines_at_once_for(answers)});
    if (!opened) {
        service_.log(
            event_line(options_.service.log_format, opened.error().message + "; no batches are run"));
        return;
    }
    batches_ = std::move(*opened);
    service_.batches = batches_.get();
    service_.find_stored_file = batch::finder_of(batches_->files());
}

bool Server::wait_for_batches(std::chrono::milliseconds limit) {
    return batches_ == nullptr || batches_->wait(limit);
}

ConnectionHandlers Server::handlers() {
    const std::size_t body_bytes = options_.service.body_bytes_max;
    const std::size_t upload_bytes = std::max(body_bytes, options_.persistence.batches.file_bytes_max);
    return {
        .body_bytes_max =
            [body_bytes, upload_bytes](const HttpRequest& head) {
                return head.method == "POST" && head.path == "/v1/files" ? upload_bytes : body_bytes;
            },
        .is_health_check =
            [router = &router_](const HttpRequest& request) { return router->is_health_check(request); },
        .client_of = [access = &service_.options.access](
                         const HttpRequest& request) { return client_of_any(*access, request); },
        .answer = [router =
                       &router_](const HttpRequest& request) { return response_of(router->answer(request)); },
        .refuse = [service = &service_](const Refusal& what) { return refused_response(*service, what); }};
}

Status Server::open_exporter() {
    if (!options_.traces)
        return {};
    try {
        exporter_ = std::make_unique<tracing::SpanExporter>(*options_.traces, [this](std::string_view line) {
            service_.log(warning_line(service_.options.log_format, line));
        });
    } catch (const std::system_error& error) {
        return Error{ErrorKind::out_of_memory,
                     fmt::format("cannot start a thread that sends traces: {}", error.what())};
    }
    service_.exporter = exporter_.get();
    return {};
}

Status Server::open_listeners() {
    ConnectionOptions connection = options_.connection;
    connection.memory = std::make_shared<MemoryBudget>(connection.bodies_bytes_max);
    if (options_.second_port) // the ports share the limit of one
        connection.connections_max = std::max<std::size_t>(connection.connections_max / 2, 1);
    ETNA_TRY(auto first, Listener::open(connection, handlers()));
    listeners_.push_back(std::move(first));
    if (!options_.second_port || *options_.second_port == port())
        return {};
    connection.port = *options_.second_port;
    auto second = Listener::open(connection, handlers());
    if (!second) {
        Error error = second.error();
        error.hint = "end the program that uses the port, perhaps Ollama, or omit --api ollama";
        return error;
    }
    listeners_.push_back(std::move(*second));
    return {};
}

bool Server::wait(std::chrono::milliseconds limit) {
    const auto end = std::chrono::steady_clock::now() + limit;
    bool are_done = true;
    for (const auto& listener : listeners_) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
        are_done = listener->wait(std::max(left, std::chrono::milliseconds(0))) && are_done;
    }
    return are_done;
}

std::size_t Server::requests() const {
    std::size_t requests = 0;
    for (const auto& listener : listeners_)
        requests += listener->requests();
    return requests;
}

void Server::trim_heap() {
    for (const auto& listener : listeners_)
        listener->trim_heap();
}

void Server::become_ready() {
    continue_answers(service_); // first: clients that follow them find them running
    service_.state = ServiceState::ready;
}

/// Prepares on another thread, then answers requests. Returns false if the server is not to run.
bool Server::start(const CancelPoll& should_stop, const StartUp& start_up) {
    if (start_up.prepare) {
        std::promise<bool> prepared;
        std::future<bool> result = prepared.get_future();
        std::thread preparing([&] { prepared.set_value(start_up.prepare()); });
        while (result.wait_for(stop_poll) != std::future_status::ready)
            trim_heap();
        preparing.join();
        if (!result.get() || should_stop())
            return false;
    }
    if (service_.state != ServiceState::ready)
        become_ready();
    if (batches_ != nullptr) {
        batches_->start(service_,
                        [router = &router_](const HttpRequest& request) { return router->answer(request); });
    }
    return !start_up.on_ready || start_up.on_ready();
}

ShutdownResult Server::run(const CancelPoll& should_stop, const StartUp& start_up) {
    if (!start_up.prepare)
        become_ready(); // first: waiting connections would get "Loading model"
    std::vector<std::thread> serving;
    serving.reserve(listeners_.size());
    for (const auto& listener : listeners_)
        serving.emplace_back([one = listener.get()] { one->run(); });
    const bool is_started = start(should_stop, start_up);
    while (is_started && !should_stop()) {
        trim_heap();
        service_.throughput.record(Throughput::Clock::now(), service_.models.engine_readings());
        std::this_thread::sleep_for(stop_poll);
    }
    const ShutdownResult result = shut_down(serving);
    return is_started || should_stop() ? result : ShutdownResult::not_started;
}

/// Drains, cancels and breaks what runs, and ends the listeners' threads.
ShutdownResult Server::shut_down(std::vector<std::thread>& serving) {
    const auto report = [&](std::string_view what) {
        service_.log(
            event_line(service_.options.log_format, fmt::format("{} requests {}", requests(), what)));
    };
    if (persistence_->store) {
        persistence_->store->announce_end(std::chrono::ceil<std::chrono::seconds>(
            options_.drain_timeout + 3 * cancel_time + abort_time + exit_time));
    }
    // Connections stay open during the drain, so that clients get the draining error.
    service_.state = ServiceState::draining;
    const auto drain_ends = std::chrono::steady_clock::now() + options_.drain_timeout;
    bool is_clean = wait(options_.drain_timeout);
    const auto drain_left = [&] {
        return std::chrono::duration_cast<std::chrono::milliseconds>(drain_ends -
                                                                     std::chrono::steady_clock::now());
    };
    running_responses_.wait(drain_left());
    (void)wait_for_batches(drain_left()); // unfinished batches resume after the next start
    if (!is_clean)
        report("did not end within the drain timeout");
    service_.is_aborting = true;
    for (const auto& listener : listeners_)
        listener->stop();
    is_clean = wait(cancel_time);
    const bool are_batches_stopped = wait_for_batches(cancel_time);
    running_responses_.wait(cancel_time); // so that background responses are stored in their current state
    for (const auto& listener : listeners_)
        listener->abort();
    is_clean = is_clean || wait(abort_time);
    for (std::thread& thread : serving)
        thread.join();
    if (!is_clean)
        report("were abandoned");
    return is_clean && are_batches_stopped && !service_.models.is_loading() ? ShutdownResult::clean
                                                                            : ShutdownResult::abandoned;
}

} // namespace etna::server
