#pragma once

#include "server/access.hpp"
#include "server/log_line.hpp"
#include "server/metrics.hpp"
#include "server/models.hpp"
#include "server/openai/generation_fields.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace etna::server {

/// What the operator chose.
struct ServiceOptions {
    AccessRules access;
    bool accepts_any_model_name = false; ///< the default model answers requests for unknown models
    openai::RequestLimits limits;
    std::size_t body_bytes_max = 32 * 1024 * 1024;
    std::chrono::milliseconds keep_alive{15'000}; ///< between comments while a stream is silent
    std::chrono::milliseconds reassuring_interval{
        10'000}; ///< between events of a response while there is nothing new: clients give up on silence
    std::chrono::seconds request_time{0}; ///< for a request as a whole; 0: no bound
    uint32_t unread_max = 8;              ///< tokens that wait for a client that reads slowly
    LogFormat log_format = LogFormat::text;
    bool logs_prompts = false; ///< what users wrote stays out of the log unless somebody asks for it
    std::string chat_path = "/v1/chat/completions";
    std::string completions_path = "/v1/completions";
};

struct Keeping;

enum class ServiceState : uint8_t { starting, ready, draining };

/// What endpoints share. Thread-safe.
struct Service {
    ServiceOptions options;
    Models& models;
    Metrics& metrics;
    Keeping* keeping = nullptr; ///< borrowed; set before the first request
    std::atomic<ServiceState> state{ServiceState::starting};
    std::atomic<bool> is_aborting{false}; ///< the time to drain is over: answers end as they are
    /// One line for the operator, as in server/log_line.hpp.
    std::function<void(std::string_view line)> log = [](std::string_view) {};
};

} // namespace etna::server
