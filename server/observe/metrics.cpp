#include "server/observe/metrics.hpp"

#include "core/base/utf8.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace etna::server {
namespace {

uint64_t now_ns() {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

/// Escapes a label value for the text format, as valid UTF-8.
std::string escaped_label(std::string_view text) {
    std::string out;
    for (const char letter : repaired_utf8(text)) {
        if (letter == '\\' || letter == '"')
            out += '\\';
        if (letter == '\n') {
            out += "\\n";
        } else {
            out += letter;
        }
    }
    return out;
}

std::string labels_text(const RequestLabels& labels) {
    return fmt::format("model=\"{}\",endpoint=\"{}\",stream=\"{}\"", escaped_label(labels.model),
                       labels.endpoint, labels.is_streamed);
}

std::string head(std::string_view name, std::string_view kind, std::string_view help) {
    return fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, kind);
}

template <class Number>
std::string family(std::string_view name, std::string_view kind, std::string_view help,
                   const std::map<std::string, Number>& values) {
    std::string text = head(name, kind, help);
    for (const auto& [labels, value] : values)
        text += fmt::format("{}{{{}}} {}\n", name, labels, value);
    return text;
}

} // namespace

std::string label_of_model(std::string_view model) {
    return fmt::format("model=\"{}\"", escaped_label(model));
}

std::string vllm_labels(std::string_view model) {
    return fmt::format("model_name=\"{}\",engine=\"0\"", escaped_label(model));
}

namespace {

/// A counter of models, with vLLM's labels instead of label_of_model().
std::string vllm_family(std::string_view name, std::string_view help,
                        const std::map<std::string, uint64_t>& values) {
    constexpr std::string_view own_label = "model";
    std::map<std::string, uint64_t> relabelled;
    for (const auto& [labels, value] : values)
        relabelled[fmt::format("model_name{},engine=\"0\"", labels.substr(own_label.size()))] = value;
    return family(name, "counter", help, relabelled);
}

} // namespace

Histogram::Histogram(std::span<const double> bounds) : bounds_(bounds), counts_(bounds.size() + 1) {}

void Histogram::observe(double seconds, uint64_t times) {
    const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), seconds) - bounds_.begin();
    counts_[static_cast<std::size_t>(bucket)] += times;
    sum_ += seconds * static_cast<double>(times);
}

std::string Histogram::text(std::string_view name, std::string_view labels) const {
    std::string lines;
    uint64_t below = 0;
    for (std::size_t i = 0; i < bounds_.size(); ++i) {
        below += counts_[i];
        lines += fmt::format("{}_bucket{{{},le=\"{}\"}} {}\n", name, labels, bounds_[i], below);
    }
    below += counts_.back();
    lines += fmt::format("{}_bucket{{{},le=\"+Inf\"}} {}\n", name, labels, below);
    return lines +
           fmt::format("{}_sum{{{}}} {}\n{}_count{{{}}} {}\n", name, labels, sum_, name, labels, below);
}

void Metrics::begin(const RequestLabels& labels) {
    const std::scoped_lock lock(mutex_);
    ++in_flight_[labels_text(labels)];
}

void Metrics::end(const RequestLabels& labels, const RequestOutcome& outcome) {
    const std::scoped_lock lock(mutex_);
    --in_flight_[labels_text(labels)];
    ++requests_[fmt::format("{},status=\"{}\"", labels_text(labels), outcome.status)];
    Durations& durations = durations_[labels.model];
    durations.total.observe(outcome.total_s);
    durations.vllm_total.observe(outcome.total_s);
}

int64_t Metrics::in_flight() const {
    const std::scoped_lock lock(mutex_);
    return std::accumulate(in_flight_.begin(), in_flight_.end(), int64_t{0},
                           [](int64_t sum, const auto& labelled) { return sum + labelled.second; });
}

void Metrics::refuse(std::string_view endpoint, int status) {
    const RequestLabels labels = {.model = {}, .endpoint = std::string(endpoint)};
    const std::scoped_lock lock(mutex_);
    ++requests_[fmt::format("{},status=\"{}\"", labels_text(labels), status)];
}

void Metrics::add(const AnswerLatencies& answer) {
    const std::scoped_lock lock(mutex_);
    Durations& durations = durations_[answer.model];
    durations.queue.observe(answer.queue_s);
    durations.vllm_queue.observe(answer.queue_s);
    if (answer.first_token_s) {
        durations.first_token.observe(*answer.first_token_s);
        durations.vllm_first_token.observe(*answer.first_token_s);
    }
    if (answer.prompt_s) {
        durations.prompt.observe(*answer.prompt_s);
        durations.vllm_prefill.observe(*answer.prompt_s);
    }
    if (answer.tokens > 0)
        durations.vllm_decode.observe(answer.decode_s);
    ++vllm_successes_[fmt::format("{},finished_reason=\"{}\"", vllm_labels(answer.model),
                                  answer.vllm_reason)];
    if (answer.between_tokens_s > 0) {
        durations.between_tokens.observe(answer.between_tokens_s);
        durations.vllm_per_token.observe(answer.between_tokens_s);
        durations.vllm_inter_token.observe(answer.between_tokens_s, answer.tokens - 1);
    }
}

void Metrics::add(const std::string& model, const Tokens& tokens) {
    const std::scoped_lock lock(mutex_);
    const std::string labels = label_of_model(model);
    prompt_tokens_[labels] += tokens.prompt;
    cached_tokens_[labels] += tokens.cached;
    completion_tokens_[labels] += tokens.completion;
    accepted_drafts_[labels] += tokens.accepted_drafts;
    rejected_drafts_[labels] += tokens.rejected_drafts;
}

void Metrics::count_disconnect(const std::string& model) {
    const std::scoped_lock lock(mutex_);
    ++disconnects_[label_of_model(model)];
}

std::string Metrics::text(const std::vector<Reading>& readings) const {
    const std::scoped_lock lock(mutex_);
    std::string text =
        family("etna_requests_total", "counter",
               "Finished requests. A stream that failed after its head counts with the error's status, a "
               "disconnected client with 499. An empty model: refused before the model was known.",
               requests_);
    text += family("etna_requests_in_flight", "gauge", "Running requests.", in_flight_);
    text += family("etna_client_disconnects_total", "counter",
                   "Requests whose client disconnected before the end.", disconnects_);
    text += family("etna_prompt_tokens_total", "counter", "Prompt tokens.", prompt_tokens_);
    text += family("etna_cached_prompt_tokens_total", "counter",
                   "Prompt tokens served from the prefix cache.", cached_tokens_);
    text += family("etna_completion_tokens_total", "counter", "Generated tokens.", completion_tokens_);
    text += family("etna_accepted_draft_tokens_total", "counter", "Draft tokens that were accepted.",
                   accepted_drafts_);
    text += family("etna_rejected_draft_tokens_total", "counter", "Draft tokens that were rejected.",
                   rejected_drafts_);
    text += vllm_family("vllm:prompt_tokens_total", "etna_prompt_tokens_total under vLLM's name.",
                        prompt_tokens_);
    text += vllm_family("vllm:generation_tokens_total", "etna_completion_tokens_total under vLLM's name.",
                        completion_tokens_);
    text += family("vllm:request_success_total", "counter", "Finished answers.", vllm_successes_);
    text += histograms();
    std::string last;
    for (const Reading& reading : readings) {
        if (reading.name != last)
            text += head(reading.name, reading.name.ends_with("_total") ? "counter" : "gauge", reading.help);
        last = reading.name;
        text += reading.labels.empty()
                    ? fmt::format("{} {}\n", reading.name, reading.value)
                    : fmt::format("{}{{{}}} {}\n", reading.name, reading.labels, reading.value);
    }
    return text;
}

/// Precondition: the mutex is held.
std::string Metrics::histograms() const {
    std::string text;
    const auto add = [&](std::string_view name, std::string_view help, Histogram Durations::* member,
                         std::string (*labels_of)(std::string_view) = label_of_model) {
        text += head(name, "histogram", help);
        for (const auto& [model, durations] : durations_)
            text += (durations.*member).text(name, labels_of(model));
    };
    add("etna_time_to_first_token_seconds", "From a request's arrival to the first token of an answer.",
        &Durations::first_token);
    add("etna_inter_token_seconds", "Mean time between the tokens of an answer.", &Durations::between_tokens);
    add("etna_prompt_seconds", "From admission to the first token.", &Durations::prompt);
    add("etna_queue_seconds", "From the engine's queue to admission.", &Durations::queue);
    add("etna_request_seconds", "From a request's arrival to its end.", &Durations::total);
    add("vllm:time_to_first_token_seconds",
        "etna_time_to_first_token_seconds under vLLM's name and with its buckets.",
        &Durations::vllm_first_token, vllm_labels);
    add("vllm:inter_token_latency_seconds",
        "Time between two tokens: the mean of their answer, counted once for each pair.",
        &Durations::vllm_inter_token, vllm_labels);
    add("vllm:request_time_per_output_token_seconds",
        "etna_inter_token_seconds under vLLM's name and with its buckets.", &Durations::vllm_per_token,
        vllm_labels);
    add("vllm:e2e_request_latency_seconds", "etna_request_seconds under vLLM's name and with its buckets.",
        &Durations::vllm_total, vllm_labels);
    add("vllm:request_queue_time_seconds", "etna_queue_seconds under vLLM's name and with its buckets.",
        &Durations::vllm_queue, vllm_labels);
    add("vllm:request_prefill_time_seconds", "etna_prompt_seconds under vLLM's name and with its buckets.",
        &Durations::vllm_prefill, vllm_labels);
    add("vllm:request_decode_time_seconds", "From the first token of an answer to its last.",
        &Durations::vllm_decode, vllm_labels);
    return text;
}

InFlight::InFlight(Metrics& metrics, RequestLabels labels)
    : metrics_(&metrics), labels_(std::move(labels)), began_ns_(now_ns()) {
    metrics_->begin(labels_);
}

InFlight::~InFlight() {
    outcome_.total_s = elapsed_s();
    metrics_->end(labels_, outcome_);
}

double InFlight::elapsed_s() const {
    constexpr double ns_per_second = 1e9;
    return static_cast<double>(now_ns() - began_ns_) / ns_per_second;
}

} // namespace etna::server
