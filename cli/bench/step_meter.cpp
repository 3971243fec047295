#include "cli/bench/step_meter.hpp"

#include <algorithm>
#include <ctime>
#include <deque>
#include <utility>

namespace etna::cli {
namespace {

double thread_cpu_us() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

class MeteredExecutor final : public engine::Executor {
public:
    MeteredExecutor(std::unique_ptr<engine::Executor> executor, std::shared_ptr<StepMeter> meter)
        : meter_(std::move(meter)), executor_(std::move(executor)) {}

    [[nodiscard]] const engine::Limits& limits() const override { return executor_->limits(); }
    [[nodiscard]] bool has_turn() override { return executor_->has_turn(); }

    Result<engine::Ticket> submit(const engine::Batch& batch) override {
        ETNA_TRY(const engine::Ticket ticket, executor_->submit(batch));
        MeteredStep& step = unread_.emplace_back();
        for (const engine::Row& row : batch.rows)
            ++(row.kind == engine::RowKind::prefill ? step.prompt_rows : step.generation_rows);
        return ticket;
    }

    Result<engine::Outputs> wait(engine::Ticket ticket) override {
        ETNA_TRY(engine::Outputs outputs, executor_->wait(ticket));
        MeteredStep step = unread_.front();
        unread_.pop_front();
        step.done_at = std::chrono::steady_clock::now();
        step.host_us = thread_cpu_us();
        step.dispatches = outputs.dispatches;
        step.barriers = outputs.barriers;
        step.is_repeated = outputs.is_repeated;
        step.found_idle = outputs.found_idle;
        meter_->add(step);
        return outputs;
    }

private:
    std::shared_ptr<StepMeter> meter_;
    std::unique_ptr<engine::Executor> executor_;
    std::deque<MeteredStep> unread_; ///< by ticket
};

/// Sums up the steps after the first.
GenerationSpan sum_of(std::span<const MeteredStep> steps) {
    GenerationSpan span{
        .seconds = std::chrono::duration<double>(steps.back().done_at - steps.front().done_at).count(),
        .host_us = steps.back().host_us - steps.front().host_us};
    for (const MeteredStep& step : steps.subspan(1)) {
        span.tokens += step.generation_rows;
        span.dispatches += step.dispatches;
        span.barriers += step.barriers;
        span.recorded += step.is_repeated ? 0 : 1;
        span.idle += step.found_idle ? 1 : 0;
        ++span.submits;
    }
    return span;
}

} // namespace

void StepMeter::add(const MeteredStep& step) {
    const std::scoped_lock lock(mutex_);
    steps_.push_back(step);
}

std::vector<MeteredStep> StepMeter::take() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(steps_, {});
}

std::unique_ptr<engine::Executor> metered(std::unique_ptr<engine::Executor> executor,
                                          std::shared_ptr<StepMeter> meter) {
    return std::make_unique<MeteredExecutor>(std::move(executor), std::move(meter));
}

std::optional<GenerationSpan> generation_span(std::span<const MeteredStep> steps, uint32_t batch) {
    const auto counts = [&](const MeteredStep& step) {
        return step.prompt_rows == 0 && step.generation_rows == batch;
    };
    std::span<const MeteredStep> longest;
    for (auto begin = steps.begin(); begin != steps.end();) {
        begin = std::find_if(begin, steps.end(), counts);
        const auto end = std::find_if_not(begin, steps.end(), counts);
        if (static_cast<std::size_t>(end - begin) > longest.size())
            longest = {begin, end};
        begin = end;
    }
    if (longest.size() < 2)
        return std::nullopt;
    return sum_of(longest);
}

} // namespace etna::cli
