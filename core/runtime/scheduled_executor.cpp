#include "core/runtime/scheduled_executor.hpp"

#include <cstdint>
#include <utility>

namespace etna::runtime {
namespace {

/// A started step; ends it without cost unless it was released.
class BegunStep {
public:
    explicit BegunStep(DeviceClient& client) : client_(&client) { client.begin_step(); }
    BegunStep(const BegunStep&) = delete;
    BegunStep& operator=(const BegunStep&) = delete;
    ~BegunStep() {
        if (client_ != nullptr)
            client_->end_step(0);
    }
    void release() { client_ = nullptr; }

private:
    DeviceClient* client_;
};

class ScheduledExecutor final : public engine::Executor {
public:
    ScheduledExecutor(std::unique_ptr<engine::Executor> executor, std::shared_ptr<DeviceClient> client)
        : client_(std::move(client)), executor_(std::move(executor)) {}
    ScheduledExecutor(const ScheduledExecutor&) = delete;
    ScheduledExecutor& operator=(const ScheduledExecutor&) = delete;
    ~ScheduledExecutor() override {
        executor_.reset(); // waits for the unread steps
        while (unread_-- > 0)
            client_->end_step(0);
    }

    [[nodiscard]] const engine::Limits& limits() const override { return executor_->limits(); }
    [[nodiscard]] bool has_turn() override { return client_->has_turn(); }

    Result<engine::Ticket> submit(const engine::Batch& batch) override {
        BegunStep step(*client_);
        ETNA_TRY(const engine::Ticket ticket, executor_->submit(batch));
        step.release();
        ++unread_;
        return ticket;
    }

    Result<engine::Outputs> wait(engine::Ticket ticket) override {
        ETNA_TRY(engine::Outputs outputs, executor_->wait(ticket));
        --unread_;
        client_->end_step(outputs.device_ms);
        return outputs;
    }

private:
    std::shared_ptr<DeviceClient> client_;
    std::unique_ptr<engine::Executor> executor_;
    uint64_t unread_ = 0; ///< submissions whose outputs were not returned
};

} // namespace

std::unique_ptr<engine::Executor> scheduled(std::unique_ptr<engine::Executor> executor,
                                            std::shared_ptr<DeviceClient> client) {
    return std::make_unique<ScheduledExecutor>(std::move(executor), std::move(client));
}

} // namespace etna::runtime
