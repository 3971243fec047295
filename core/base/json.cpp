#include "core/base/json.hpp"

namespace etna {
namespace {

constexpr auto invalid_utf8 = Json::error_handler_t::replace;
constexpr int one_line = -1;
constexpr int indent = 2;

} // namespace

Json parse_json(std::string_view text) {
    return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
}

Json parse_json(std::string_view text, int depth_max) {
    bool is_too_deep = false;
    const auto check_depth = [&](int depth, Json::parse_event_t /*event*/, const Json& /*value*/) {
        is_too_deep = is_too_deep || depth > depth_max;
        return !is_too_deep;
    };
    Json json = Json::parse(text.begin(), text.end(), check_depth, /*allow_exceptions=*/false);
    return is_too_deep ? Json(Json::value_t::discarded) : json;
}

bool scan_json(std::string_view text, Json::json_sax_t& handler) {
    return Json::sax_parse(text.begin(), text.end(), &handler);
}

std::string dump_json(const Json& json) {
    return json.dump(one_line, ' ', false, invalid_utf8);
}

std::string dump_json_indented(const Json& json) {
    return json.dump(indent, ' ', false, invalid_utf8);
}

} // namespace etna
