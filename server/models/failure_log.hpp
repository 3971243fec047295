#pragma once

#include "core/base/result.hpp"
#include "server/models/model_sources.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace etna::server {

/// The last failed load of each model, so that the log has it once per cause, also if the model has left the
/// list in between. Not thread-safe.
class FailureLog {
public:
    /// Maximum models; one more replaces another, whose next failure is logged again.
    static constexpr std::size_t models_max = 1024;

    /// Logs the failure unless it was the model's last one, of the same file. `error`: as for the log.
    void write(const std::string& name, const ListedSource& listed, const Error& error);

    /// Forgets the model's failure, because the model was loaded.
    void forget(const std::string& name) { last_.erase(name); }

private:
    struct Failure {
        std::filesystem::path path;
        std::optional<FileIdentity> identity;
        ErrorKind kind = ErrorKind::internal;
        std::string cause; ///< the message without its digits: free memory differs between two tries

        bool operator==(const Failure&) const = default;
    };

    std::map<std::string, Failure> last_; ///< by model
};

} // namespace etna::server
