#include "core/runtime/validated_executor.hpp"

#include <utility>

namespace etna::runtime {
namespace {

class ValidatedExecutor final : public engine::Executor {
public:
    ValidatedExecutor(std::unique_ptr<engine::Executor> executor, const vk::Instance& instance)
        : executor_(std::move(executor)), instance_(instance), limits_(executor_->limits()) {
        limits_.verifies_steps = true;
    }

    [[nodiscard]] const engine::Limits& limits() const override { return limits_; }

    Result<engine::Ticket> submit(const engine::Batch& batch) override {
        ETNA_CHECK(silence());
        return executor_->submit(batch);
    }

    Result<engine::Outputs> wait(engine::Ticket ticket) override {
        auto outputs = executor_->wait(ticket);
        ETNA_CHECK(silence());
        return outputs;
    }

private:
    [[nodiscard]] Status silence() const {
        const std::vector<std::string> messages = instance_.validation_messages();
        if (messages.empty())
            return {};
        return Error{ErrorKind::internal, "the Vulkan validation layer says: " + messages.front(),
                     "this is a bug in etna or in the driver"};
    }

    std::unique_ptr<engine::Executor> executor_;
    const vk::Instance& instance_; // borrowed
    engine::Limits limits_;
};

} // namespace

std::unique_ptr<engine::Executor> validated(std::unique_ptr<engine::Executor> executor,
                                            const vk::Instance& instance) {
    return std::make_unique<ValidatedExecutor>(std::move(executor), instance);
}

} // namespace etna::runtime
