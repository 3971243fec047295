#include "server/api/content_parts.hpp"

#include <array>

#include <fmt/format.h>

namespace etna::server::api {

std::string_view medium_of(std::string_view type) {
    constexpr std::array<std::string_view, 5> media = {"image", "audio", "video", "document", "file"};
    for (const std::string_view medium : media) {
        if (type.find(medium) != std::string_view::npos)
            return medium;
    }
    return {};
}

void refuse_part(Fields& fields, std::string_view path, const Json& part) {
    const Json type = part.is_object() ? part["type"] : Json();
    const std::string name = type.is_string() ? type.get<std::string>() : std::string();
    if (const std::string_view medium = medium_of(name); !medium.empty()) {
        return fields.adopt({.message = fmt::format("{} input is not supported by this model", medium),
                             .param = fields.path_of(path),
                             .code = "invalid_value"});
    }
    fields.refuse(path, fmt::format("is not a text part (its type is {}); only text is supported",
                                    type.is_null() ? "missing" : dump_json(type)));
}

} // namespace etna::server::api
