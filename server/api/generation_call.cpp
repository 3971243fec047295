#include "server/api/generation_call.hpp"

#include <cstddef>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::server::api {
namespace {

/// Returns the prefix of an error message that locates a custom tool's grammar in the generated schema; may
/// be empty.
std::string_view grammar_location(std::string_view text) {
    constexpr std::string_view input = ": #/properties/input/";
    return text.starts_with(input) ? text.substr(0, text.find(": ", input.size())) : std::string_view();
}

void append(std::vector<std::string>& names, const std::vector<std::string>& more) {
    names.insert(names.end(), more.begin(), more.end());
}

} // namespace

void IgnoredMembers::add(const IgnoredMembers& more) {
    append(unknown, more.unknown);
    append(without_effect, more.without_effect);
    append(changes, more.changes);
}

void IgnoredMembers::add(const generate::Adapted& adapted) {
    append(without_effect, adapted.dropped);
    append(changes, adapted.notes);
}

IgnoredMembers ignored_members(const Fields& fields) {
    return {.unknown = fields.unknown(), .without_effect = fields.without_effect()};
}

bool is_strict(const HttpRequest& request) {
    return request.header("etna-strict") == "1";
}

ApiStatus refuse_unknown(bool is_strict, const IgnoredMembers& ignored) {
    if (!is_strict || ignored.unknown.empty())
        return {};
    return ApiError{.message = fmt::format("unknown: {}", fmt::join(ignored.unknown, ", ")),
                    .param = ignored.unknown.front(),
                    .code = "unknown_parameter"};
}

void report_ignored(const IgnoredMembers& ignored, HttpReply& reply) {
    std::vector<std::string> names = ignored.unknown;
    append(names, ignored.without_effect);
    if (!names.empty())
        reply.headers["etna-ignored"] = header_value(fmt::format("{}", fmt::join(names, ", ")));
    if (!ignored.changes.empty())
        reply.headers["etna-adapted"] = header_value(fmt::format("{}", fmt::join(ignored.changes, "; ")));
}

void map_tool_error(ApiError& error, const std::vector<OfferedTool>& tools) {
    for (std::size_t i = 0; i < tools.size(); ++i) {
        const std::string generated = fmt::format("tools[{}].function.parameters", i);
        if (error.param != generated)
            continue;
        error.param = tools[i].path;
        if (!error.message.starts_with(generated))
            return;
        std::string_view rest = std::string_view(error.message).substr(generated.size());
        if (tools[i].is_custom)
            rest.remove_prefix(grammar_location(rest).size());
        error.message = tools[i].path + std::string(rest);
        return;
    }
}

} // namespace etna::server::api
