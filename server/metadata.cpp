#include "server/metadata.hpp"

#include <string>

#include <fmt/format.h>

namespace etna::server {
namespace {

constexpr std::size_t pairs_max = 16;
constexpr std::size_t name_characters_max = 64;
constexpr std::size_t value_characters_max = 512;

} // namespace

Json read_metadata(Fields& fields) {
    const Json* const given = fields.object("metadata");
    if (given == nullptr)
        return Json::object();
    if (given->size() > pairs_max) {
        fields.refuse("metadata", fmt::format("has {} pairs; at most {} are kept", given->size(), pairs_max),
                      "object_above_max_properties");
    }
    for (const auto& [name, value] : given->items()) {
        const std::string place = "metadata." + name;
        if (!value.is_string()) {
            fields.refuse(place, "must be a string", "invalid_type");
        } else if (characters_in(name) > name_characters_max ||
                   characters_in(value.get_ref<const std::string&>()) > value_characters_max) {
            fields.refuse(place,
                          fmt::format("is too long: names have at most {} characters, values {}",
                                      name_characters_max, value_characters_max),
                          "string_above_max_length");
        }
    }
    return *given;
}

} // namespace etna::server
