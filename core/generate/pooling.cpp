#include "core/generate/pooling.hpp"

#include <cmath>
#include <string>

#include <fmt/format.h>

namespace etna::generate {

Result<Pooling> read_pooling(const gguf::File& file, Pooling fallback) {
    const std::string key =
        fmt::format("{}.pooling_type", file.text("general.architecture").value_or(std::string_view()));
    if (file.find(key) == nullptr)
        return fallback;
    switch (file.unsigned_integer(key).value_or(UINT64_MAX)) {
    case 0:
        return fallback;
    case 1:
        return Pooling::mean;
    case 2:
        return Pooling::cls;
    case 3:
        return Pooling::last;
    case 4:
        return Pooling::rank;
    default:
        return Error{ErrorKind::corrupt, fmt::format("{}: {} is not 0 to 4", file.name(), key),
                     "the file is damaged, or newer than this program"};
    }
}

std::optional<Pooling> pooling_named(std::string_view name) {
    if (name == "mean")
        return Pooling::mean;
    if (name == "cls")
        return Pooling::cls;
    if (name == "last")
        return Pooling::last;
    return name == "rank" ? std::optional(Pooling::rank) : std::nullopt;
}

void normalise(std::span<float> values) {
    double squares = 0;
    for (const float value : values)
        squares += double{value} * double{value};
    if (squares == 0)
        return;
    const double factor = 1 / std::sqrt(squares);
    for (float& value : values)
        value = static_cast<float>(value * factor);
}

} // namespace etna::generate
