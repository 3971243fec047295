#include "core/runtime/device_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace etna::runtime {

DeviceSchedule::ClientId DeviceSchedule::add() {
    clients_.emplace(next_, Client());
    return next_++;
}

void DeviceSchedule::remove(ClientId client, double now_ms) {
    clients_.erase(client);
    update(now_ms);
}

void DeviceSchedule::ask(ClientId client, double now_ms) {
    clients_.at(client).is_waiting = true;
    update(now_ms);
}

void DeviceSchedule::withdraw(ClientId client, double now_ms) {
    clients_.at(client).is_waiting = false;
    update(now_ms);
}

bool DeviceSchedule::has_turn(ClientId client) const {
    return clients_.at(client).credit_ms > 0;
}

void DeviceSchedule::begin(ClientId client, double now_ms) {
    Client& beginner = clients_.at(client);
    if (beginner.holds_device)
        beginner.credit_ms -= std::min(now_ms - (beginner.grace_end_ms - grace_ms), grace_ms);
    beginner.holds_device = false;
    beginner.is_waiting = false;
    ++beginner.unread_steps;
    update(now_ms);
}

void DeviceSchedule::end(ClientId client, double device_ms, double now_ms) {
    Client& ended = clients_.at(client);
    --ended.unread_steps;
    ended.credit_ms -= device_ms;
    ended.grace_end_ms = now_ms + grace_ms;
    update(now_ms);
}

bool DeviceSchedule::update(double now_ms) {
    std::optional<double> highest_ms;
    for (const auto& [id, client] : clients_) {
        if (client.is_active(now_ms))
            highest_ms = std::max(highest_ms.value_or(client.credit_ms), client.credit_ms);
    }
    const bool has_refill = highest_ms && *highest_ms <= 0;
    if (has_refill) {
        const double refill_ms = (std::floor(-*highest_ms / quantum_ms) + 1) * quantum_ms;
        for (auto& [id, client] : clients_)
            client.credit_ms = std::min(client.credit_ms + refill_ms, quantum_ms);
    }
    note_holders(now_ms);
    return has_refill;
}

/// Marks the clients for whose next step the idle device is reserved while others wait.
void DeviceSchedule::note_holders(double now_ms) {
    bool is_waited_for = false;
    for (const auto& [id, client] : clients_) {
        if (client.unread_steps > 0)
            return;
        is_waited_for = is_waited_for || (client.is_waiting && client.credit_ms <= 0);
    }
    for (auto& [id, client] : clients_) {
        if (is_waited_for && client.is_in_grace(now_ms) && client.credit_ms > 0)
            client.holds_device = true;
    }
}

double DeviceSchedule::next_update_ms(double now_ms) const {
    double next_ms = std::numeric_limits<double>::infinity();
    for (const auto& [id, client] : clients_) {
        if (client.is_in_grace(now_ms))
            next_ms = std::min(next_ms, client.grace_end_ms);
    }
    return next_ms;
}

} // namespace etna::runtime
