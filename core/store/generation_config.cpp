#include "core/store/generation_config.hpp"

#include "core/base/file_reader.hpp"
#include "core/base/json.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

namespace etna::store {
namespace {

constexpr std::size_t file_bytes_max = 1 << 20;

Error corrupt(std::string_view problem) {
    return {ErrorKind::corrupt, fmt::format("{}: {}", generation_config_name, problem),
            "fix the file, or move it away to run with the defaults"};
}

Result<std::optional<double>> read_number(const Json& json, std::string_view name) {
    const auto found = json.find(name);
    if (found == json.end() || found->is_null())
        return std::optional<double>();
    if (!found->is_number())
        return corrupt(fmt::format("`{}` is not a number", name));
    return std::optional(found->get<double>());
}

} // namespace

Result<GenerationConfig> parse_generation_config(std::string_view text) {
    const Json json = parse_json(text);
    if (!json.is_object())
        return corrupt("not a JSON object");
    GenerationConfig config;
    for (const GenerationConfigMember& member : generation_config_members) {
        ETNA_TRY(config.*member.value, read_number(json, member.name));
    }
    return config;
}

Result<GenerationConfig> generation_config_beside(const std::filesystem::path& model) {
    const auto file = FileReader::open(model.parent_path() / generation_config_name);
    if (!file)
        return file.error().kind == ErrorKind::not_found ? Result(GenerationConfig()) : file.error();
    if (file->bytes() > file_bytes_max) {
        return Error{ErrorKind::io, fmt::format("{} has {} bytes, more than the {} that are read",
                                                generation_config_name, file->bytes(), file_bytes_max)};
    }
    std::string text(file->bytes(), '\0');
    ETNA_CHECK(file->read(0, std::as_writable_bytes(std::span(text))));
    return parse_generation_config(text);
}

} // namespace etna::store
