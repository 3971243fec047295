#include "server/json.hpp"

#include <array>

#include <fmt/format.h>

namespace etna::server {
namespace {

/// What a body's JSON has to keep to. It reads ahead of the parser: asked by the parser's own callback, the
/// library would look through a list again after each of its objects.
class Guard : public Json::json_sax_t {
public:
    /// Why the text is refused; empty where it is not, or is no JSON.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }

    bool null() override { return true; }
    bool boolean(bool /*value*/) override { return true; }
    bool number_integer(number_integer_t /*value*/) override { return true; }
    bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
    bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
    bool string(string_t& /*value*/) override { return true; }
    bool binary(binary_t& /*value*/) override { return true; }
    bool start_object(std::size_t /*members*/) override { return open(); }
    bool end_object() override { return close(); }
    bool start_array(std::size_t /*items*/) override { return open(); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t /*place*/, const std::string& /*token*/,
                     const Json::exception& /*error*/) override {
        return false;
    }
    bool key(string_t& /*name*/) override {
        if (++members_[depth_] > json_members_max)
            refusal_ = fmt::format("the body's JSON has an object of more than {} members", json_members_max);
        return refusal_.empty();
    }

private:
    bool open() {
        if (depth_ == json_depth_max)
            refusal_ = fmt::format("the body's JSON is nested more than {} deep", json_depth_max);
        else
            members_[++depth_] = 0;
        return refusal_.empty();
    }
    bool close() { return --depth_, true; }

    std::array<std::size_t, json_depth_max + 1> members_{}; ///< of what is open at each depth
    std::size_t depth_ = 0;
    std::string refusal_;
};

ApiError refused(std::string message) {
    return {.status = 400, .message = std::move(message)};
}

} // namespace

std::variant<Json, ApiError> parse_body(std::string_view body) {
    try {
        Guard guard;
        Json::sax_parse(body.begin(), body.end(), &guard);
        if (!guard.refusal().empty())
            return refused(guard.refusal());
        Json json = Json::parse(body.begin(), body.end());
        if (!json.is_object())
            return refused("the body is no JSON object");
        return json;
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
