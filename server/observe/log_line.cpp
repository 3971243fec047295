#include "server/observe/log_line.hpp"

#include "server/base/json.hpp"
#include "server/http/http.hpp"

#include <chrono>
#include <optional>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace etna::server {
namespace {

constexpr int ok_status = 200;

std::string now() {
    const auto time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    return fmt::format("{:%FT%TZ}", fmt::gmtime(time));
}

std::string_view or_dash(std::string_view text) {
    return text.empty() ? "-" : text;
}

/// Formats a value for a text line: bare if unambiguous, else JSON-quoted.
std::string value_text(std::string_view value) {
    constexpr std::string_view plain =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-._~:/@+[]";
    const bool is_plain = value.find_first_not_of(plain) == std::string_view::npos;
    return is_plain ? std::string(value) : dump_json(Json(value));
}

/// Model names and unknown client fields may be long.
std::string_view shortened(std::string_view value) {
    constexpr std::size_t bytes_max = 128;
    return value.substr(0, bytes_max);
}

/// The known members of a line: {"model", "prompt_tokens", "completion_tokens", "priority", "error",
/// "param"}.
Json members_of(const AnswerLog& answer) {
    Json members = Json::object();
    const auto add_text = [&](const char* name, std::string_view value) {
        if (!value.empty())
            members[name] = shortened(value);
    };
    const auto add_count = [&](const char* name, const std::optional<uint32_t>& count) {
        if (count)
            members[name] = *count;
    };
    add_text("model", answer.model);
    add_count("prompt_tokens", answer.prompt_tokens);
    add_count("completion_tokens", answer.completion_tokens);
    if (answer.priority != 0)
        members["priority"] = answer.priority;
    add_text("error", answer.error);
    add_text("param", answer.param);
    return members;
}

/// " model=demo prompt_tokens=7".
std::string text_of_members(const Json& members) {
    std::string text;
    for (const auto& [name, value] : members.items()) {
        text += fmt::format(" {}={}", name,
                            value.is_string() ? value_text(value.get_ref<const std::string&>())
                                              : dump_json(value));
    }
    return text;
}

int final_status(const RequestSummary& request) {
    return request.answer.final_status.value_or(request.status);
}

} // namespace

std::string_view outcome_of(int final_status) {
    constexpr int first_error = 400;
    if (final_status == client_closed_status)
        return "cancelled";
    return final_status < first_error ? "ok" : "error";
}

std::string request_line(LogFormat format, const RequestSummary& request) {
    const Json members = members_of(request.answer);
    if (format == LogFormat::text)
        return fmt::format("{} {} {} {} {} {:.0f} ms {} {}{}{}{}", now(), or_dash(request.method),
                           or_dash(header_value(request.path)), request.status,
                           outcome_of(final_status(request)), request.elapsed_ms,
                           or_dash(request.remote_address), request.request_id, text_of_members(members),
                           request.problem.empty() ? "" : ": ", request.problem);
    Json line = {{"time", now()},
                 {"method", request.method},
                 {"path", request.path},
                 {"status", request.status},
                 {"outcome", outcome_of(final_status(request))},
                 {"elapsed_ms", request.elapsed_ms},
                 {"remote_address", request.remote_address},
                 {"request_id", request.request_id}};
    line.update(members);
    if (!request.problem.empty())
        line["problem"] = request.problem;
    return dump_json(line);
}

std::string background_line(LogFormat format, std::string_view request_id, const AnswerLog& answer) {
    const Json members = members_of(answer);
    const std::string_view outcome = outcome_of(answer.final_status.value_or(ok_status));
    if (format == LogFormat::text)
        return fmt::format("{} background {} {}{}", now(), outcome, request_id, text_of_members(members));
    Json line = {{"time", now()},
                 {"message", "background response ended"},
                 {"outcome", outcome},
                 {"request_id", request_id}};
    line.update(members);
    return dump_json(line);
}

std::string event_line(LogFormat format, std::string_view message) {
    if (format == LogFormat::text)
        return fmt::format("{} {}", now(), message);
    return dump_json({{"time", now()}, {"message", message}});
}

std::string warning_line(LogFormat format, std::string_view message) {
    if (format == LogFormat::text)
        return fmt::format("{} warning: {}", now(), message);
    return dump_json({{"time", now()}, {"level", "warning"}, {"message", message}});
}

std::string prompt_line(LogFormat format, std::string_view request_id, std::string_view prompt) {
    if (format == LogFormat::text) // JSON-quoted, so that it is always one line
        return fmt::format("{} prompt {} {}", now(), request_id, dump_json(prompt));
    return dump_json({{"time", now()}, {"request_id", request_id}, {"prompt", prompt}});
}

} // namespace etna::server
