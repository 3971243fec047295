#include "server/log_line.hpp"

#include "server/http.hpp"
#include "server/json.hpp"

#include <chrono>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace etna::server {
namespace {

std::string now() {
    const auto time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    return fmt::format("{:%FT%TZ}", fmt::gmtime(time));
}

std::string_view or_dash(std::string_view text) {
    return text.empty() ? "-" : text;
}

} // namespace

std::string_view outcome_of(int final_status) {
    constexpr int first_error = 400;
    if (final_status == client_left_status)
        return "cancelled";
    return final_status < first_error ? "ok" : "error";
}

std::string request_line(LogFormat format, const RequestSummary& request) {
    if (format == LogFormat::text)
        return fmt::format("{} {} {} {} {} {:.0f} ms {} {}{}{}", now(), or_dash(request.method),
                           or_dash(header_value(request.path)), request.status,
                           outcome_of(request.final_status), request.elapsed_ms,
                           or_dash(request.remote_address), request.request_id,
                           request.problem.empty() ? "" : ": ", request.problem);
    Json line = {{"time", now()},
                 {"method", request.method},
                 {"path", request.path},
                 {"status", request.status},
                 {"outcome", outcome_of(request.final_status)},
                 {"elapsed_ms", request.elapsed_ms},
                 {"remote_address", request.remote_address},
                 {"request_id", request.request_id}};
    if (!request.problem.empty())
        line["problem"] = request.problem;
    return text_of(line);
}

std::string event_line(LogFormat format, std::string_view message) {
    if (format == LogFormat::text)
        return fmt::format("{} {}", now(), message);
    return text_of({{"time", now()}, {"message", message}});
}

std::string prompt_line(LogFormat format, std::string_view request_id, std::string_view prompt) {
    if (format == LogFormat::text) // as JSON has it: one line, whatever is in it
        return fmt::format("{} prompt {} {}", now(), request_id, text_of(prompt));
    return text_of({{"time", now()}, {"request_id", request_id}, {"prompt", prompt}});
}

} // namespace etna::server
