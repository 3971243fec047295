#include "server/json.hpp"

#include <array>

#include <fmt/format.h>

namespace etna::server {
namespace {

struct TooDeep {};
struct TooWide {};

/// What a body's JSON has to keep to, asked while it is parsed.
class Guard {
public:
    bool operator()(int depth, Json::parse_event_t event, const Json& /*value*/) {
        if (depth > json_depth_max)
            throw TooDeep();
        const auto level = static_cast<std::size_t>(depth);
        if (event == Json::parse_event_t::object_start)
            members_[level + 1] = 0;
        if (event == Json::parse_event_t::key && ++members_[level] > json_members_max)
            throw TooWide();
        return true;
    }

private:
    std::array<std::size_t, json_depth_max + 2> members_{}; ///< of the object at each depth
};

ApiError refused(std::string message) {
    return {.status = 400, .message = std::move(message)};
}

} // namespace

std::variant<Json, ApiError> parse_body(std::string_view body) {
    try {
        Json json = Json::parse(body.begin(), body.end(), Guard());
        if (!json.is_object())
            return refused("the body is no JSON object");
        return json;
    } catch (const TooDeep&) {
        return refused(fmt::format("the body's JSON is nested more than {} deep", json_depth_max));
    } catch (const TooWide&) {
        return refused(
            fmt::format("the body's JSON has an object of more than {} members", json_members_max));
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
