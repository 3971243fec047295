#pragma once

#include "core/base/cancel.hpp"
#include "core/base/result.hpp"
#include "core/store/pull.hpp"
#include "server/api/access.hpp"
#include "server/api/reasoning_control.hpp"
#include "server/api/request_context.hpp"
#include "server/api/running_answers.hpp"
#include "server/models/load_fractions.hpp"
#include "server/models/models.hpp"
#include "server/observe/client_activity.hpp"
#include "server/observe/device_list.hpp"
#include "server/observe/log_line.hpp"
#include "server/observe/metrics.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace etna::server {

/// Access of clients to the folder of models, which they may change.
struct StoreAccess {
    using PullReport = std::function<void(const store::PullPlan& plan, const store::PullProgress& progress)>;

    std::filesystem::path folder;
    /// Fetches a model of the hub into the folder. Blocks; `report` is called on this thread and may be
    /// absent. Thread-safe. Errors: those of store::plan_pull() and store::pull().
    std::function<Result<store::Manifest>(const std::string& name, const PullReport& report,
                                          const CancelPoll& is_stopped)>
        pull;
};

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
    bool logs_prompts = false;     ///< user input is logged only if enabled
    bool shows_slots = false;      ///< GET /slots shows the running answers to every client
    bool shifts_context = false;   ///< answers continue when the context is full, see generate::ContextShift
    uint32_t answers_at_once = 16; ///< maximum answers that a model generates at a time
    std::string chat_path = "/v1/chat/completions";
    std::string completions_path = "/v1/completions";
    std::optional<StoreAccess> store = {}; ///< empty: clients do not change stored models
    bool has_page = true;                  ///< the web page is served
    bool keeps_prompts = false;            ///< the journal has the rendered prompts, for the page
    DeviceReporter device_reporter = {};   ///< for the page; empty: it shows no devices
    std::shared_ptr<const LoadFractions> load_fractions = {}; ///< null: unknown
};

struct Persistence;

enum class ServiceState : uint8_t {
    loading, ///< files are inspected and pinned models loaded
    ready,
    draining,
};

/// The services of requests that models answer. Thread-safe.
struct AnswerServices {
    ServiceOptions options;
    Models& models;
    Metrics& metrics;
    Persistence* persistence = nullptr;        ///< borrowed; set before the first request
    api::FindStoredFile find_stored_file = {}; ///< empty: no files are stored
    std::atomic<ServiceState> state{ServiceState::loading};
    std::atomic<bool> is_aborting{false};     ///< the drain timeout has passed: answers are truncated
    api::RunningAnswers running_answers = {}; ///< empty unless ServiceOptions::shows_slots
    api::ReasoningControls reasoning_controls = {};
    ClientActivity activity = {};
    /// One line for the operator, as in server/observe/log_line.hpp.
    std::function<void(std::string_view line)> log = [](std::string_view) {};
};

} // namespace etna::server
