#pragma once

#include "core/base/error.hpp"

#include <string>
#include <string_view>

namespace etna::jinja {

/// Returns an error whose message starts with the Python exception's name, as in the reference.
inline Error python_error(std::string_view exception, std::string_view message) {
    std::string text(exception);
    text += ": ";
    text += message;
    return {.kind = ErrorKind::unsupported, .message = std::move(text)};
}

inline Error type_error(std::string_view message) {
    return python_error("TypeError", message);
}

inline Error value_error(std::string_view message) {
    return python_error("ValueError", message);
}

/// Returns the error for a limit in limits.hpp.
inline Error limit_error(std::string_view message) {
    return {.kind = ErrorKind::unsupported,
            .message = std::string(message),
            .hint = "the template asks for more than any conversation needs; try another one"};
}

inline bool is_exception(const Error& error, std::string_view exception) {
    return error.message.size() > exception.size() && error.message[exception.size()] == ':' &&
           error.message.compare(0, exception.size(), exception) == 0;
}

} // namespace etna::jinja
