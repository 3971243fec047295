#include "server/models/model_sources.hpp"

#include "core/base/log.hpp"
#include "core/base/near_names.hpp"
#include "core/base/utf8.hpp"
#include "core/store/embedded.hpp"
#include "server/base/lower_case.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

namespace etna::server {
namespace {

/// The source with its file's current identity; unchanged from `before` if the file no longer exists.
ListedSource listed_source(const store::ModelSource& source, const ListedSource* before) {
    constexpr int64_t ns_per_s = 1'000'000'000;
    ListedSource listed = {.source = source, .created_unix_s = std::time(nullptr)};
    if (before != nullptr && before->source.path == source.path)
        listed = *before;
    struct stat status{};
    if (source.path.empty() || ::stat(source.path.c_str(), &status) != 0)
        return listed;
    listed.identity = {.device = status.st_dev,
                       .inode = status.st_ino,
                       .bytes = static_cast<uint64_t>(status.st_size),
                       .modified_ns = status.st_mtim.tv_sec * ns_per_s + status.st_mtim.tv_nsec};
    listed.created_unix_s = status.st_mtim.tv_sec;
    return listed;
}

} // namespace

bool is_unchanged(const store::ModelSource& listed, const store::ModelSource& found) {
    const bool was_fetched = !listed.path.empty() || !listed.bytes.empty();
    return !was_fetched || (listed.path == found.path && listed.bytes.data() == found.bytes.data() &&
                            listed.options == found.options);
}

std::string normalized_name(std::string_view name) {
    constexpr std::array<std::string_view, 2> suffixes = {":latest", ".gguf"}; // a tag is last
    std::string normalized = to_lower(name);
    for (const std::string_view suffix : suffixes) {
        if (normalized.ends_with(suffix) && normalized.size() > suffix.size())
            normalized.resize(normalized.size() - suffix.size());
    }
    return normalized;
}

std::string served_names(std::string_view requested, std::span<const std::string> names) {
    constexpr std::size_t listed_max = 8;
    constexpr std::size_t nearest_max = 3;
    if (names.size() <= listed_max)
        return fmt::format("this server has `{}`", fmt::join(names, "`, `"));
    std::vector<std::string> nearest = near_names(normalized_name(requested), names);
    if (nearest.empty()) // nothing is similar: list the first ones
        nearest.assign(names.begin(), names.begin() + nearest_max);
    return fmt::format("this server has `{}` and others (GET /v1/models)", fmt::join(nearest, "`, `"));
}

ModelSources::ModelSources(std::vector<NamedSource> named, std::filesystem::path folder)
    : named_(std::move(named)), folder_(std::move(folder)) {}

const ModelSources::Listed& ModelSources::scan() {
    Listed now;
    const auto before = [this](const std::string& name) {
        const auto found = listed_.find(name);
        return found == listed_.end() ? nullptr : &found->second;
    };
    for (const NamedSource& named : named_) {
        now.emplace(named.name, listed_source(named.source, before(named.name))).first->second.aliases =
            named.aliases;
    }
    if (!folder_.empty()) {
        for (const store::ModelFile& file : store::model_files(folder_))
            add_file(now, file);
    }
    return listed_ = std::move(now);
}

void ModelSources::remove(std::string_view name) {
    std::erase_if(named_, [&](const NamedSource& model) { return model.name == name; });
}

ListedSource ModelSources::listed(const store::ModelSource& source) {
    return listed_source(source, nullptr);
}

void ModelSources::add_file(Listed& now, const store::ModelFile& file) {
    if (valid_utf8_prefix(file.name) != file.name.size()) {
        log_once(fmt::format("{} is not served: its name is not UTF-8", repaired_utf8(file.path.string())));
        return;
    }
    const auto named = now.find(file.name);
    const bool is_named = named != now.end() && !named->second.source.path.empty();
    if (is_named || is_alias(file.name)) {
        std::error_code ignored;
        if (!is_named || !std::filesystem::equivalent(named->second.source.path, file.path, ignored)) {
            log_once(
                fmt::format("{} is not served: another model is named `{}`", file.path.string(), file.name));
        }
        return;
    }
    if (store::embedded_model(file.name) != nullptr) {
        log_once(fmt::format("`{}` is {}, not the model that is built in", file.name, file.path.string()));
    }
    const auto before = listed_.find(file.name);
    now.insert_or_assign(file.name, listed_source({.name = file.name, .path = file.path, .bytes = {}},
                                                  before == listed_.end() ? nullptr : &before->second));
}

bool ModelSources::is_alias(const std::string& name) const {
    return std::any_of(named_.begin(), named_.end(), [&](const NamedSource& named) {
        return std::find(named.aliases.begin(), named.aliases.end(), name) != named.aliases.end();
    });
}

void ModelSources::log_once(std::string message) {
    if (const auto [line, is_new] = logged_.insert(std::move(message)); is_new)
        log(LogLevel::warning, *line);
}

} // namespace etna::server
