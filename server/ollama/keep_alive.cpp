#include "server/ollama/keep_alive.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

namespace etna::server::ollama {
namespace {

/// Longer times are this one: they are forever for every use.
constexpr double seconds_max = 1e9;

constexpr std::array<std::pair<std::string_view, double>, 8> units = {
    {{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"μs", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}}};

KeepAlive keep_alive_of(double seconds) {
    if (seconds < 0)
        return {};
    return {std::chrono::seconds(static_cast<int64_t>(std::ceil(std::min(seconds, seconds_max))))};
}

/// Takes a decimal number from the front of a text; empty: there is none.
std::optional<double> take_number(std::string_view& text) {
    double number = 0;
    const bool begins =
        !text.empty() && (text.front() == '.' || (text.front() >= '0' && text.front() <= '9'));
    const auto [end, problem] =
        std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
    if (!begins || problem != std::errc())
        return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

/// Takes a unit from the front of a text, and returns its seconds; empty: there is none.
std::optional<double> take_unit(std::string_view& text) {
    for (const auto& [name, seconds] : units) { // "ms" precedes "m"
        if (text.starts_with(name)) {
            text.remove_prefix(name.size());
            return seconds;
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<KeepAlive> parse_duration(std::string_view text) {
    const bool is_negative = text.starts_with('-');
    if (is_negative || text.starts_with('+'))
        text.remove_prefix(1);
    if (text == "0")
        return keep_alive_of(0);
    if (text.empty())
        return std::nullopt;
    double total = 0;
    while (!text.empty()) {
        const auto number = take_number(text);
        const auto unit = number ? take_unit(text) : std::nullopt;
        if (!unit)
            return std::nullopt;
        total += *number * *unit;
    }
    return keep_alive_of(is_negative ? -total : total);
}

std::optional<KeepAlive> read_keep_alive(Fields& fields) {
    const Json* const given = fields.any("keep_alive");
    if (given == nullptr)
        return std::nullopt;
    if (given->is_number())
        return keep_alive_of(given->get<double>());
    const auto parsed =
        given->is_string() ? parse_duration(given->get_ref<const std::string&>()) : std::nullopt;
    if (!parsed)
        fields.refuse("keep_alive", R"(must be a number of seconds, or a duration such as "5m")");
    return parsed;
}

void apply(const std::optional<KeepAlive>& keep_alive, Service& service, const std::string& model) {
    if (keep_alive && keep_alive->is_zero())
        (void)service.models.unload(model); // a model that is being loaded again stays
}

} // namespace etna::server::ollama
