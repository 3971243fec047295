#pragma once

#include "core/sampling/parameters.hpp"

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server::api {

/// An answer that waits or runs, as other requests see it. The atomic members change.
struct RunningAnswer {
    uint64_t number = 0; ///< of the request, from 0
    std::string model = {};
    sampling::Parameters parameters = {}; ///< with all defaults
    std::optional<uint32_t> max_tokens = {};
    bool ignores_end = false;
    bool is_streamed = false;
    uint32_t prompt_tokens = 0;
    std::atomic<bool> has_begun = false;
    std::atomic<uint32_t> cached_tokens = 0;
    std::atomic<uint32_t> computed_tokens = 0; ///< of the prompt
    std::atomic<uint32_t> generated_tokens = 0;
};

/// The answers that wait or run. Thread-safe.
class RunningAnswers {
public:
    using Shared = std::shared_ptr<RunningAnswer>;

    /// Returns the number of the next request.
    uint64_t next_number() { return next_number_++; }

    /// Lists the answer as long as the returned pointer lives.
    Shared add(std::unique_ptr<RunningAnswer> answer);

    /// Returns the answers of a model, oldest first.
    [[nodiscard]] std::vector<std::shared_ptr<const RunningAnswer>> of_model(std::string_view model);

private:
    std::atomic<uint64_t> next_number_{0};
    std::mutex mutex_;
    std::list<std::weak_ptr<RunningAnswer>> answers_;
};

} // namespace etna::server::api
