#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::server {

/// model="NAME", escaped for the text format.
std::string label_of_model(std::string_view model);

/// model_name="NAME",engine="0": the labels of vLLM's metrics.
std::string vllm_labels(std::string_view model);

/// A histogram of durations.
class Histogram {
public:
    /// `bounds`: upper bounds of the buckets in seconds, ascending; borrowed.
    explicit Histogram(std::span<const double> bounds);

    void observe(double seconds, uint64_t times = 1);

    /// The cumulative buckets in the Prometheus text format, with the labels ("model=\"demo\"").
    [[nodiscard]] std::string text(std::string_view name, std::string_view labels) const;

private:
    std::span<const double> bounds_;
    std::vector<uint64_t> counts_; ///< [bounds + 1]
    double sum_ = 0;
};

/// The metric labels of a request.
struct RequestLabels {
    std::string model;
    std::string endpoint; ///< "chat_completions"
    bool is_streamed = false;
};

/// The outcome of a request.
struct RequestOutcome {
    /// The error's status if a stream failed after its head; client_closed_status if the client disconnected.
    int status = 200;
    double total_s = 0;
};

/// The server's metrics. Thread-safe. `text()` produces the Prometheus text format, version 0.0.4.
class Metrics {
public:
    void begin(const RequestLabels& labels);
    void end(const RequestLabels& labels, const RequestOutcome& outcome);

    /// Requests between begin() and end().
    [[nodiscard]] int64_t in_flight() const;

    /// Counts a request refused before its model was known. `endpoint`: empty for an unknown path.
    void refuse(std::string_view endpoint, int status);

    /// Latencies of one finished answer.
    struct AnswerLatencies {
        std::string model;
        double queue_s = 0;
        std::optional<double> first_token_s = {}; ///< since the request arrived; empty: no token
        std::optional<double> prompt_s = {};      ///< since it left the queue; empty: no token
        double between_tokens_s = 0;              ///< mean; 0 for fewer than two tokens
        uint32_t tokens = 0;                      ///< generated ones
        double decode_s = 0;                      ///< from the first token to the last
        std::string_view vllm_reason = {};        ///< vLLM's finished_reason: stop, length or abort
    };
    void add(const AnswerLatencies& answer);

    /// Token counts of one request, over all of its answers.
    struct Tokens {
        uint32_t prompt = 0; ///< each prompt counted once
        uint32_t cached = 0; ///< prompt tokens served from the cache
        uint32_t completion = 0;
        uint32_t accepted_drafts = 0; ///< drafted tokens that were accepted; see engine::Speculation
        uint32_t rejected_drafts = 0;
    };
    void add(const std::string& model, const Tokens& tokens);
    void count_disconnect(const std::string& model);

    /// A metric sampled at scrape time.
    struct Reading {
        std::string name; ///< ends in "_total" for a counter
        std::string help;
        std::string labels;
        double value = 0;
    };
    /// Readings of one name are adjacent.
    [[nodiscard]] std::string text(const std::vector<Reading>& readings) const;

private:
    static constexpr std::array<double, 16> bounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                      0.5,   1,      2.5,   5,    10,    30,   60,  300};
    static constexpr std::array<double, 22> vllm_first_token_bounds = {
        0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
        1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560};
    static constexpr std::array<double, 19> vllm_token_bounds = {
        0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80};
    static constexpr std::array<double, 21> vllm_request_bounds = {
        0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};

    /// Those of vLLM have its buckets. Source: vLLM, vllm/v1/metrics/loggers.py.
    struct Durations {
        Histogram first_token{bounds}, between_tokens{bounds}, prompt{bounds}, queue{bounds}, total{bounds};
        Histogram vllm_first_token{vllm_first_token_bounds}, vllm_inter_token{vllm_token_bounds},
            vllm_per_token{vllm_token_bounds};
        Histogram vllm_total{vllm_request_bounds}, vllm_queue{vllm_request_bounds},
            vllm_prefill{vllm_request_bounds}, vllm_decode{vllm_request_bounds};
    };

    [[nodiscard]] std::string histograms() const;

    mutable std::mutex mutex_;
    std::map<std::string, uint64_t> requests_; ///< by labels
    std::map<std::string, int64_t> in_flight_; ///< by labels
    std::map<std::string, uint64_t> prompt_tokens_, cached_tokens_, completion_tokens_, accepted_drafts_,
        rejected_drafts_, disconnects_;              ///< by label of the model
    std::map<std::string, Durations> durations_;     ///< by model's name
    std::map<std::string, uint64_t> vllm_successes_; ///< by labels
};

/// RAII guard that counts a request as in flight until destroyed; the outcome is 500 unless set_status() is
/// called.
class InFlight {
public:
    InFlight(Metrics& metrics, RequestLabels labels);
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;
    ~InFlight();

    void set_status(int status) { outcome_.status = status; }
    [[nodiscard]] int status() const { return outcome_.status; }
    [[nodiscard]] double elapsed_s() const;
    [[nodiscard]] const RequestLabels& labels() const { return labels_; }

private:
    Metrics* metrics_; ///< borrowed
    RequestLabels labels_;
    RequestOutcome outcome_{.status = 500};
    uint64_t began_ns_;
};

} // namespace etna::server
