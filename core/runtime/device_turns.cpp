#include "core/runtime/device_turns.hpp"

#include <chrono>
#include <cmath>
#include <utility>

namespace etna::runtime {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

double now_ms() {
    return Milliseconds(Clock::now().time_since_epoch()).count();
}

Clock::time_point time_of(double ms) {
    return Clock::time_point(std::chrono::ceil<Clock::duration>(Milliseconds(ms)));
}

} // namespace

DeviceClient::DeviceClient(std::shared_ptr<DeviceTurns> turns) : turns_(std::move(turns)) {
    const std::scoped_lock lock(turns_->mutex_);
    id_ = turns_->schedule_.add();
}

DeviceClient::~DeviceClient() {
    const std::scoped_lock lock(turns_->mutex_);
    turns_->schedule_.remove(id_, now_ms());
    turns_->changed_.notify_all();
}

bool DeviceClient::has_turn() {
    const std::scoped_lock lock(turns_->mutex_);
    turns_->schedule_.ask(id_, now_ms());
    const bool has_turn = turns_->schedule_.has_turn(id_);
    turns_->schedule_.withdraw(id_, now_ms());
    turns_->changed_.notify_all(); // asking may have refilled the others
    return has_turn;
}

void DeviceClient::begin_step() {
    DeviceSchedule& schedule = turns_->schedule_;
    std::unique_lock lock(turns_->mutex_);
    schedule.ask(id_, now_ms());
    turns_->changed_.notify_all();
    while (!schedule.has_turn(id_)) {
        const double next_ms = schedule.next_update_ms(now_ms());
        if (std::isinf(next_ms)) {
            turns_->changed_.wait(lock);
        } else {
            turns_->changed_.wait_until(lock, time_of(next_ms));
        }
        if (schedule.update(now_ms()))
            turns_->changed_.notify_all();
    }
    schedule.begin(id_, now_ms());
}

void DeviceClient::end_step(double device_ms) {
    const std::scoped_lock lock(turns_->mutex_);
    turns_->schedule_.end(id_, device_ms, now_ms());
    turns_->changed_.notify_all();
}

} // namespace etna::runtime
