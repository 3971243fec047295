#include "server/observe/tracing/span_exporter.hpp"

#include "server/base/ids.hpp"
#include "server/base/json.hpp"

#include <algorithm>
#include <charconv>
#include <exception>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace etna::server::tracing {
namespace {

/// Whether the status is retryable. Source: OTLP/HTTP, "Failures".
bool is_retryable(int status) {
    return status == 429 || status == 502 || status == 503 || status == 504;
}

/// Returns the number of rejected spans in an accepted batch. Source: OTLP, "Partial Success".
std::size_t rejected_spans(const std::string& body) {
    const Json answer = parse_json(body);
    const Json partial = answer.is_object() ? answer.value("partialSuccess", Json()) : Json();
    const Json rejected = partial.is_object() ? partial.value("rejectedSpans", Json()) : Json();
    if (rejected.is_number_unsigned())
        return rejected.get<std::size_t>();
    std::size_t count = 0;
    if (rejected.is_string()) { // the JSON mapping of protocol buffers writes 64-bit integers as strings
        const auto& digits = rejected.get_ref<const std::string&>();
        std::from_chars(digits.data(), digits.data() + digits.size(), count);
    }
    return count;
}

bool is_success(int status) {
    return status >= 200 && status < 300;
}

} // namespace

SpanExporter::SpanExporter(ExportOptions options, std::function<void(std::string_view line)> log)
    : options_(std::move(options)), name_(store::printable_url(options_.url)), instance_(new_uuid()),
      log_(std::move(log)), client_(options_.http, [this] { return must_give_up(); }),
      thread_([this] { work(); }) {}

SpanExporter::~SpanExporter() {
    {
        const std::scoped_lock lock(mutex_);
        is_ending_ = true;
        end_limit_ = std::chrono::steady_clock::now() + flush_limit;
    }
    changed_.notify_all();
    thread_.join();
}

void SpanExporter::add(std::vector<Span> spans) {
    const std::scoped_lock lock(mutex_);
    const std::size_t room = waiting_max - waiting_.size();
    const std::size_t kept = spans.size() <= room ? spans.size() : 0; // a partial trace is useless
    counts_.dropped += spans.size() - kept;
    waiting_.insert(waiting_.end(), std::make_move_iterator(spans.begin()),
                    std::make_move_iterator(spans.begin() + static_cast<std::ptrdiff_t>(kept)));
    if (waiting_.size() >= batch_max)
        changed_.notify_all();
}

SpanExporter::Counts SpanExporter::counts() const {
    const std::scoped_lock lock(mutex_);
    return counts_;
}

bool SpanExporter::must_give_up() const {
    const auto now = std::chrono::steady_clock::now();
    const std::scoped_lock lock(mutex_);
    return now >= answer_end_ || (is_ending_ && now >= end_limit_);
}

void SpanExporter::work() {
    while (true) {
        std::unique_lock lock(mutex_);
        const auto wait = std::max(options_.interval, retry_wait_);
        changed_.wait_for(lock, wait, [&] {
            return is_ending_ || (waiting_.size() >= batch_max && retry_wait_.count() == 0);
        });
        const bool is_last = is_ending_;
        while (!waiting_.empty()) {
            const std::vector<Span> batch = take(lock);
            try {
                send(batch);
            } catch (const std::exception& failure) { // out of memory
                record_failure(failure.what(), batch, false);
            }
            lock.lock();
            if (retry_wait_.count() > 0)
                break;
        }
        if (is_last)
            return;
    }
}

/// Removes a batch from the queue, and releases the lock.
std::vector<Span> SpanExporter::take(std::unique_lock<std::mutex>& lock) {
    const auto count = static_cast<std::ptrdiff_t>(std::min(waiting_.size(), batch_max));
    std::vector<Span> batch(std::make_move_iterator(waiting_.begin()),
                            std::make_move_iterator(waiting_.begin() + count));
    waiting_.erase(waiting_.begin(), waiting_.begin() + count);
    lock.unlock();
    return batch;
}

void SpanExporter::send(const std::vector<Span>& batch) {
    answer_end_ = std::chrono::steady_clock::now() + options_.answer_limit;
    const auto answer = client_.exchange({.url = options_.url, .json_body = otlp_json(batch, instance_)});
    if (!answer && answer.error().kind == ErrorKind::cancelled) {
        return record_failure(fmt::format("no answer within {} ms", options_.answer_limit.count()), batch,
                              true);
    }
    if (!answer)
        return record_failure(answer.error().message, batch, true);
    if (is_success(answer->status))
        return record_success(batch.size(), std::min(rejected_spans(answer->body), batch.size()));
    record_failure(fmt::format("the collector answers {}", answer->status), batch,
                   is_retryable(answer->status));
}

void SpanExporter::record_success(std::size_t spans, std::size_t rejected) {
    bool was_failing = false;
    uint64_t dropped = 0;
    {
        const std::scoped_lock lock(mutex_);
        counts_.exported += spans - rejected;
        counts_.dropped += rejected;
        was_failing = std::exchange(counts_.is_failing, false);
        dropped = counts_.dropped;
        retry_wait_ = std::chrono::milliseconds(0);
    }
    if (was_failing)
        log_(fmt::format("traces reach {} again; {} spans were lost since the start", name_, dropped));
}

/// Requeues the batch, or drops it.
void SpanExporter::record_failure(std::string_view why, const std::vector<Span>& batch, bool may_retry) {
    bool was_failing = false;
    {
        const std::scoped_lock lock(mutex_);
        was_failing = std::exchange(counts_.is_failing, true);
        const std::size_t kept =
            may_retry && !is_ending_ ? std::min(batch.size(), waiting_max - waiting_.size()) : 0;
        counts_.dropped += batch.size() - kept;
        waiting_.insert(waiting_.begin(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(kept));
        retry_wait_ = std::clamp(retry_wait_ * 2, options_.first_retry, options_.retry_wait_max);
    }
    if (!was_failing) {
        log_(fmt::format("traces do not reach {}: {}; up to {} spans wait, further ones are dropped", name_,
                         why, waiting_max));
    }
}

} // namespace etna::server::tracing
