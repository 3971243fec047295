#include "core/base/error.hpp"

#include <fmt/format.h>

namespace etna {

std::string_view to_string(ErrorKind kind) {
    switch (kind) {
    case ErrorKind::invalid_argument:
        return "invalid_argument";
    case ErrorKind::context_exceeded:
        return "context_exceeded";
    case ErrorKind::not_found:
        return "not_found";
    case ErrorKind::io:
        return "io";
    case ErrorKind::corrupt:
        return "corrupt";
    case ErrorKind::unsupported:
        return "unsupported";
    case ErrorKind::out_of_memory:
        return "out_of_memory";
    case ErrorKind::no_device:
        return "no_device";
    case ErrorKind::device_lost:
        return "device_lost";
    case ErrorKind::busy:
        return "busy";
    case ErrorKind::cancelled:
        return "cancelled";
    case ErrorKind::internal:
        return "internal";
    }
    return "unknown";
}

Error Error::while_doing(std::string_view activity) const {
    return {kind, fmt::format("{}: {}", activity, message), hint};
}

} // namespace etna
