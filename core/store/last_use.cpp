#include "core/store/last_use.hpp"

#include "core/store/sha256.hpp"

#include <fstream>
#include <span>
#include <string>
#include <system_error>

#include <sys/stat.h>

namespace etna::store {
namespace {

std::filesystem::path record_of(std::string_view name, const std::filesystem::path& folder) {
    constexpr std::size_t digits = 16;
    Sha256 sum;
    sum.add(std::as_bytes(std::span(name)));
    return folder / "used" / sum.hex().substr(0, digits);
}

bool is_path(std::string_view name) {
    return name.starts_with('/') || name.starts_with('.') || name.starts_with('~') ||
           (name.ends_with(".gguf") && name.find(':') == std::string_view::npos);
}

} // namespace

void note_use(std::string_view name, const std::filesystem::path& models_folder) {
    std::error_code failure;
    if (models_folder.empty() || is_path(name) || !std::filesystem::is_directory(models_folder, failure))
        return;
    const std::filesystem::path record = record_of(name, models_folder);
    std::filesystem::create_directory(record.parent_path(), failure);
    std::ofstream(record) << name << '\n';
}

std::optional<int64_t> last_use_unix_s(std::string_view name, const std::filesystem::path& models_folder) {
    struct stat status{};
    if (::stat(record_of(name, models_folder).c_str(), &status) != 0)
        return std::nullopt;
    return status.st_mtim.tv_sec;
}

void forget_use(std::string_view name, const std::filesystem::path& models_folder) {
    std::error_code ignored;
    std::filesystem::remove(record_of(name, models_folder), ignored);
}

} // namespace etna::store
