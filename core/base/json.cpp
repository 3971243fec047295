#include "core/base/json.hpp"

#include <atomic>

namespace etna {
namespace {

constexpr auto invalid_utf8 = Json::error_handler_t::replace;
constexpr int one_line = -1;
constexpr int indent = 2;

std::atomic<uint64_t> parsed;
std::atomic<uint64_t> scanned;
std::atomic<uint64_t> dumped;

void count(std::atomic<uint64_t>& calls) {
    calls.fetch_add(1, std::memory_order_relaxed);
}

} // namespace

Json parse_json(std::string_view text) {
    count(parsed);
    return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

Json parse_json(std::string_view text, int depth_max) {
    count(parsed);
    bool is_too_deep = false;
    const auto check_depth = [&](int depth, Json::parse_event_t /*event*/, const Json& /*value*/) {
        is_too_deep = is_too_deep || depth > depth_max;
        return !is_too_deep;
    };
    Json json = Json::parse(text.begin(), text.end(), check_depth, /*allow_exceptions=*/false);
    return is_too_deep ? Json(Json::value_t::discarded) : json;
}

bool scan_json(std::string_view text, Json::json_sax_t& handler) {
    count(scanned);
    return Json::sax_parse(text.begin(), text.end(), &handler);
}

std::string dump_json(const Json& json) {
    count(dumped);
    return json.dump(one_line, ' ', false, invalid_utf8);
}

std::string dump_json_indented(const Json& json) {
    count(dumped);
    return json.dump(indent, ' ', false, invalid_utf8);
}

JsonCounts json_counts() {
    return {.parsed = parsed, .scanned = scanned, .dumped = dumped};
}

} // namespace etna
