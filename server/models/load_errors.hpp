#pragma once

#include "core/base/error.hpp"
#include "core/store/resolve.hpp"

#include <string_view>
#include <system_error>

// The errors of models that cannot be loaded, as clients see them.
namespace etna::server {

/// Returns the error for a thread that cannot be started to load a model.
Error no_loading_thread(const std::system_error& error);

/// Whether the failure is transient, so that a later load may succeed.
bool is_transient(ErrorKind kind);

/// Whether the failure is about a file's content or existence.
bool is_of_file(ErrorKind kind);

/// Converts a load error of a served model for clients: local paths are replaced by the model's name, and a
/// defect of the file or the server's options is not reported as a client error.
Error error_for_client(Error error, const store::ModelSource& source, std::string_view name);

/// Converts the error of a model that a client named: the name may be at fault, or the network.
Error error_for_requester(Error error, const store::ModelSource& source, std::string_view name);

/// Returns the error for a file that was usable and no longer is, from the client's error otherwise: the
/// client is not at fault, and may retry.
Error changed_file(const Error& client_error, std::string_view name);

} // namespace etna::server
