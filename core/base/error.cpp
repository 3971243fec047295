#include "core/base/error.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

namespace etna {

std::string_view to_string(ErrorKind kind) {
    constexpr std::array<std::string_view, 13> names = {
        "invalid_argument", "context_exceeded", "not_found", "unreachable", "io",   "corrupt",
        "unsupported",      "out_of_memory",    "no_device", "device_lost", "busy", "cancelled",
        "internal"};
    static_assert(names.size() == static_cast<std::size_t>(ErrorKind::internal) + 1);
    return names[static_cast<std::size_t>(kind)];
}

Error Error::while_doing(std::string_view activity) const {
    return {kind, fmt::format("{}: {}", activity, message), hint};
}

Error invalid_argument(std::string message, std::string hint) {
    return {ErrorKind::invalid_argument, std::move(message), std::move(hint)};
}

Error unsupported(std::string message, std::string hint) {
    return {ErrorKind::unsupported, std::move(message), std::move(hint)};
}

} // namespace etna
