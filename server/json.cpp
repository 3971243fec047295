#include "server/json.hpp"

#include <fmt/format.h>

namespace etna::server {
namespace {

struct TooDeep {};

ApiError refused(std::string message) {
    return {.status = 400, .message = std::move(message)};
}

} // namespace

std::variant<Json, ApiError> parse_body(std::string_view body) {
    const auto guard = [](int depth, Json::parse_event_t /*event*/, const Json& /*value*/) {
        if (depth > json_depth_max)
            throw TooDeep();
        return true;
    };
    try {
        Json json = Json::parse(body.begin(), body.end(), guard);
        if (!json.is_object())
            return refused("the body is no JSON object");
        return json;
    } catch (const TooDeep&) {
        return refused(fmt::format("the body's JSON is nested more than {} deep", json_depth_max));
    } catch (const Json::parse_error& error) {
        return refused(fmt::format("the body is no JSON: there is a mistake at byte {}", error.byte));
    } catch (const Json::exception&) { // a number beyond the range of double
        return refused("the body's JSON has a number that is too large");
    }
}

std::string text_of(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

} // namespace etna::server
