#pragma once

#include <string>
#include <string_view>

namespace etna {

/// The kind of a failure. Callers branch on it (exit code, HTTP status); `message` is for people.
enum class ErrorKind {
    invalid_argument, ///< the caller's or user's input is wrong
    context_exceeded, ///< a prompt is longer than the model's context
    not_found,        ///< a file, model, device or name does not exist
    unreachable,      ///< a server on the network does not answer
    io,               ///< the operating system refused a read, write or map
    corrupt,          ///< a file's content contradicts itself or its size
    unsupported,      ///< well-formed, but not something etna can run
    out_of_memory,    ///< host or device memory is exhausted
    no_device,        ///< no usable Vulkan loader, driver or device
    device_lost,      ///< the device stopped answering; everything on it is gone
    busy,             ///< a bounded queue is full; try again later
    cancelled,        ///< stopped on request
    internal,         ///< a broken invariant: a bug in etna
};

/// Name of a kind for logs and JSON, such as "not_found".
std::string_view to_string(ErrorKind kind);

/// A failure as a value. `message` is one clause that names the thing ("model.gguf: tensor `x` ends past the
/// end of the file"), without a trailing period; `hint` is an instruction to the user, or empty.
struct Error {
    ErrorKind kind = ErrorKind::internal;
    std::string message;
    std::string hint = {};

    /// Returns the error with the activity as a prefix of its message: "while loading x: <message>".
    [[nodiscard]] Error while_doing(std::string_view activity) const;
};

/// Errors of those kinds.
Error invalid_argument(std::string message, std::string hint = {});
Error unsupported(std::string message, std::string hint = {});

} // namespace etna
