#include "core/base/duration.hpp"

#include <array>
#include <charconv>
#include <system_error>
#include <utility>

namespace etna {
namespace {

constexpr double second_ms = 1000;

/// Removes a unit from the front of the text, and returns its milliseconds; empty: there is none.
std::optional<double> take_unit(std::string_view& text) {
    constexpr std::array<std::pair<std::string_view, double>, 8> units = {{{"ns", 1e-6},
                                                                           {"us", 1e-3},
                                                                           {"\u00b5s", 1e-3}, // micro sign
                                                                           {"\u03bcs", 1e-3}, // letter mu
                                                                           {"ms", 1},         // before "m"
                                                                           {"s", second_ms},
                                                                           {"m", 60 * second_ms},
                                                                           {"h", 3600 * second_ms}}};
    for (const auto& [name, milliseconds] : units) {
        if (text.starts_with(name)) {
            text.remove_prefix(name.size());
            return milliseconds;
        }
    }
    return std::nullopt;
}

} // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
    const bool is_negative = text.starts_with('-');
    if (is_negative || text.starts_with('+'))
        text.remove_prefix(1);
    double sum_ms = 0;
    bool is_first = true;
    do {
        double number = 0;
        const auto [end, failure] =
            std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
        if (failure != std::errc() || !(number >= 0)) // nor "nan"
            return std::nullopt;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        const bool is_alone = is_first && text.empty();
        const auto unit = is_alone ? std::optional(second_ms) : take_unit(text);
        if (!unit)
            return std::nullopt;
        sum_ms += number * *unit;
        is_first = false;
    } while (!text.empty());
    if (sum_ms > static_cast<double>(std::chrono::milliseconds(duration_max).count()))
        return std::nullopt;
    const std::chrono::milliseconds sum(static_cast<int64_t>(sum_ms));
    return is_negative ? -sum : sum;
}

} // namespace etna
