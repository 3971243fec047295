#pragma once

#include "server/access.hpp"
#include "server/api/request_context.hpp"
#include "server/log_line.hpp"
#include "server/metrics.hpp"
#include "server/models/models.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace etna::server {

/// The operator's settings.
struct ServiceOptions {
    AccessRules access;
    bool accepts_any_model_name = false; ///< the default model answers requests for unknown models
    api::RequestLimits limits;
    std::size_t body_bytes_max = 32 * 1024 * 1024;
    std::chrono::milliseconds keep_alive{15'000}; ///< between comments on an idle stream
    std::chrono::milliseconds reassuring_interval{
        10'000}; ///< between progress events of an idle response: clients time out on silence
    std::chrono::seconds request_time{0}; ///< total time limit of a request; 0: none
    uint32_t unread_max = 8;              ///< maximum undelivered tokens of a slow client
    LogFormat log_format = LogFormat::text;
    bool logs_prompts = false; ///< user input is logged only if enabled
    std::string chat_path = "/v1/chat/completions";
    std::string completions_path = "/v1/completions";
};

struct Persistence;

enum class ServiceState : uint8_t { starting, ready, draining };

/// State shared by all endpoints. Thread-safe.
struct Service {
    ServiceOptions options;
    Models& models;
    Metrics& metrics;
    Persistence* persistence = nullptr; ///< borrowed; set before the first request
    std::atomic<ServiceState> state{ServiceState::starting};
    std::atomic<bool> is_aborting{false}; ///< the drain timeout has passed: answers end as they are
    /// One line for the operator, as in server/log_line.hpp.
    std::function<void(std::string_view line)> log = [](std::string_view) {};
};

} // namespace etna::server
