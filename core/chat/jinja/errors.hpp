#pragma once

#include "core/base/error.hpp"

#include <string>
#include <string_view>

namespace etna::chat::jinja {

/// An error that begins with the name of Python's exception, as the reference's message would read.
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

/// A bound of limits.hpp was reached.
inline Error limit_error(std::string_view message) {
    return {.kind = ErrorKind::unsupported,
            .message = std::string(message),
            .hint = "the template asks for more than any conversation needs; try another one"};
}

inline bool is_exception(const Error& error, std::string_view exception) {
    return error.message.size() > exception.size() && error.message[exception.size()] == ':' &&
           error.message.compare(0, exception.size(), exception) == 0;
}

} // namespace etna::chat::jinja
