#include "server/models/load_errors.hpp"

#include "server/base/api_error.hpp"

#include <cstddef>
#include <string>

#include <fmt/format.h>

namespace etna::server {
namespace {

void replace_all(std::string& text, const std::string& old, std::string_view with) {
    for (std::size_t at = 0; !old.empty() && (at = text.find(old, at)) != std::string::npos;
         at += with.size())
        text.replace(at, old.size(), with);
}

} // namespace

Error no_loading_thread(const std::system_error& error) {
    return {ErrorKind::out_of_memory,
            std::string("cannot start a thread to load the model: ") + error.what()};
}

bool is_transient(ErrorKind kind) {
    return kind == ErrorKind::out_of_memory || kind == ErrorKind::no_device || kind == ErrorKind::device_lost;
}

bool is_of_file(ErrorKind kind) {
    return kind == ErrorKind::corrupt || kind == ErrorKind::unsupported || kind == ErrorKind::io ||
           kind == ErrorKind::not_found;
}

Error error_for_client(Error error, const store::ModelSource& source, std::string_view name) {
    replace_all(error.message, source.path.string(), name);
    replace_all(error.message, (source.path.parent_path() / "").string(), "");
    error.message = strip_directories(error.message);
    if (error.kind == ErrorKind::invalid_argument) { // options that conflict
        error.kind = ErrorKind::internal;
        error.message = "the model cannot be loaded with the options of this server: " + error.message;
    } else if (!is_transient(error.kind) && error.kind != ErrorKind::unsupported) {
        error.kind = ErrorKind::corrupt;
    }
    return error;
}

Error error_for_requester(Error error, const store::ModelSource& source, std::string_view name) {
    const bool is_defect = error.kind == ErrorKind::invalid_argument || error.kind == ErrorKind::corrupt;
    if (is_defect && !source.path.empty())
        return error_for_client(std::move(error), source, name);
    error.message = strip_directories(error.message);
    if (error.message.find(name) == std::string::npos)
        error.message = fmt::format("{}: {}", name, error.message);
    return error;
}

Error changed_file(const Error& client_error, std::string_view name) {
    return {ErrorKind::io,
            fmt::format("the file of the model `{}` was changed on the server and cannot be used now: {}",
                        name, client_error.message)};
}

} // namespace etna::server
