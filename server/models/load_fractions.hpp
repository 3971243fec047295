#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace etna::server {

/// How far the loads in progress are. Thread-safe.
class LoadFractions {
public:
    /// `source`: store::ModelSource::name of the model. `fraction`: of its weights that are read, 0 to 1.
    void set(const std::string& source, double fraction) {
        const std::scoped_lock lock(mutex_);
        fractions_[source] = fraction;
    }

    /// The load of the source has ended.
    void remove(std::string_view source) {
        const std::scoped_lock lock(mutex_);
        if (const auto found = fractions_.find(source); found != fractions_.end())
            fractions_.erase(found);
    }

    /// Empty: the source is not being loaded, or its weights are not being read yet.
    [[nodiscard]] std::optional<double> find(std::string_view source) const {
        const std::scoped_lock lock(mutex_);
        const auto found = fractions_.find(source);
        return found == fractions_.end() ? std::nullopt : std::optional(found->second);
    }

private:
    mutable std::mutex mutex_;
    std::map<std::string, double, std::less<>> fractions_; ///< by source
};

} // namespace etna::server
