#include "core/jinja/time_format.hpp"

#include "core/jinja/errors.hpp"

#include <clocale>
#include <ctime>

#include <locale.h> // NOLINT(modernize-deprecated-headers): newlocale

namespace etna::jinja {
namespace {

constexpr std::size_t time_bytes_max = 4096;

/// Replaces the fields that Python formats itself, for a time without zone and microseconds.
std::string without_zone(const std::string& format) {
    std::string out;
    for (std::size_t i = 0; i < format.size(); ++i) {
        const char letter = i + 1 < format.size() ? format[i + 1] : '\0';
        if (format[i] != '%' || letter == '\0') {
            out += format[i];
            continue;
        }
        ++i;
        if (letter == 'f') {
            out += "000000";
        } else if (letter != 'z' && letter != 'Z') {
            out += std::string("%") + letter;
        }
    }
    return out;
}

} // namespace

Result<std::string> time_text(int64_t unix_s, const std::string& format) {
    const std::time_t time = unix_s;
    std::tm parts = {};
    if (gmtime_r(&time, &parts) == nullptr)
        return value_error("year is out of range");
    static const locale_t english = newlocale(LC_ALL_MASK, "C", nullptr); // lives as long as the process
    char buffer[time_bytes_max];
    const std::string marked = without_zone(format) + "."; // distinguishes an empty result from an overflow
    const std::size_t bytes = strftime_l(buffer, sizeof buffer, marked.c_str(), &parts, english);
    if (bytes == 0)
        return limit_error("a time of more than 4096 bytes");
    return std::string(buffer, bytes - 1);
}

} // namespace etna::jinja
