#include "server/batch/shard.hpp"

#include <charconv>
#include <system_error>

#include <fmt/format.h>

namespace etna::server::batch {
namespace {

std::optional<uint32_t> digits_value(std::string_view text) {
    uint32_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = failure == std::errc() && end == text.data() + text.size();
    return is_number ? std::optional(value) : std::nullopt;
}

std::optional<Shard> parse_pair(std::string_view text, std::string_view separator) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos)
        return std::nullopt;
    const auto index = digits_value(text.substr(0, at));
    const auto count = digits_value(text.substr(at + separator.size()));
    if (!index || !count || *index >= *count || *count > shards_max)
        return std::nullopt;
    return Shard{.index = *index, .count = *count};
}

constexpr std::string_view name_separator = "-of-";

} // namespace

std::string Shard::name() const {
    return fmt::format("{}{}{}", index, name_separator, count);
}

std::optional<Shard> parse_shard(std::string_view text) {
    return parse_pair(text, "/");
}

std::optional<Shard> parse_shard_name(std::string_view text) {
    return parse_pair(text, name_separator);
}

Result<Shard> shard_of_task(const ArrayTask& task) {
    const uint32_t step = task.step == 0 ? 1 : task.step;
    const uint32_t distance = task.id < task.min ? UINT32_MAX : task.id - task.min;
    const Shard shard = {.index = distance / step, .count = task.count};
    if (task.id < task.min || distance % step != 0 || shard.index >= shard.count ||
        shard.count > shards_max) {
        return invalid_argument(fmt::format("task {} is not one of {} tasks from {} on in steps of {}",
                                            task.id, task.count, task.min, step),
                                "use an array without gaps, such as --array=0-15, or give --shard I/N");
    }
    return shard;
}

} // namespace etna::server::batch
