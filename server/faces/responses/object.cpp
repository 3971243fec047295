#include "server/faces/responses/object.hpp"

#include <array>

namespace etna::server::responses {

std::string_view to_string(ResponseStatus status) {
    constexpr std::array<std::string_view, 6> names = {"queued",     "in_progress", "completed",
                                                       "incomplete", "failed",      "cancelled"};
    return names[static_cast<std::size_t>(status)];
}

Json to_json(const Response& response, ResponseStandard standard) {
    Json json = {
        {"id", response.id},
        {"object", "response"},
        {"created_at", response.created_unix_s},
        {"status", to_string(response.status)},
        {"completed_at", response.completed_unix_s ? Json(*response.completed_unix_s) : Json(nullptr)},
        {"error", response.error},
        {"incomplete_details",
         response.incomplete ? Json({{"reason", *response.incomplete}}) : Json(nullptr)},
        {"model", response.model},
        {"output", response.output},
        {"output_text", response.text},
        {"usage", response.usage}};
    json.update(response.echoed);
    if (standard == ResponseStandard::open_responses && json["text"]["format"]["type"] == "json_schema")
        json["text"]["format"].emplace("description", nullptr); // required, but nullable
    return json;
}

Json usage_json(const api::Usage& usage) {
    const Metrics::Tokens counts = usage.tokens();
    return {{"input_tokens", counts.prompt},
            {"input_tokens_details", {{"cached_tokens", counts.cached}, {"cache_write_tokens", 0}}},
            {"output_tokens", counts.completion},
            {"output_tokens_details", {{"reasoning_tokens", usage.reasoning_tokens()}}},
            {"total_tokens", counts.prompt + counts.completion}};
}

} // namespace etna::server::responses
