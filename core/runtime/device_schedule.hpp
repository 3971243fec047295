#pragma once

#include <cstdint>
#include <limits>
#include <map>

namespace etna::runtime {

/// Shares the time of one device among the engines that use it: deficit round robin by measured device time
/// (Shreedhar and Varghese, 1995). Knows neither Vulkan nor threads; the caller passes the time, in
/// milliseconds of any clock. The rule:
///
/// - Each engine is a client and holds credit, in milliseconds of device time. A draft model and its target
///   are one client.
/// - A client is active while it waits to begin a step, while outputs of a step are unread, and for grace_ms
///   after it has read its last ones: an engine that samples on the host has its next step by then.
/// - A client may begin a step while its credit is positive, whatever runs on the device.
/// - A finished step costs its device time. The credit may become negative, and that debt is paid later.
///   Grace during which others waited for an idle device costs its time, too.
/// - When no active client has credit, all clients get the same refill: the smallest multiple of quantum_ms
///   that gives an active one credit. Credit is capped at quantum_ms, so that idle time is not accumulated.
///
/// It follows that clients which always have work get equal time, that a client alone never waits, that
/// an idle device is waited for at most grace_ms at a time, and that a waiting client begins at
/// the latest when each of the others has run for as long as this client is in debt, plus a quantum and the
/// steps that it has in flight.
///
/// Not thread-safe: see device_turns.hpp.
class DeviceSchedule {
public:
    /// About one decode step of a large model. A smaller quantum alternates more often; a larger one lets
    /// short steps wait longer.
    static constexpr double quantum_ms = 10;
    static constexpr double grace_ms = 2;

    using ClientId = uint32_t;

    /// Adds a client with a full credit.
    ClientId add();
    void remove(ClientId client, double now_ms);

    /// The client waits from now on, until begin() or withdraw().
    void ask(ClientId client, double now_ms);
    void withdraw(ClientId client, double now_ms);

    /// Whether a client that asked may begin a step.
    [[nodiscard]] bool has_turn(ClientId client) const;

    /// Begins a step. Precondition: has_turn().
    void begin(ClientId client, double now_ms);

    /// Ends a step: its outputs have been read, or it failed. `device_ms`: the time that the device spent on
    /// it, without the steps of others.
    void end(ClientId client, double device_ms, double now_ms);

    /// Applies the rule after time has passed. Returns whether clients were refilled.
    bool update(double now_ms);

    /// Time of the next update() that can change a turn without other calls; infinity if there is none.
    [[nodiscard]] double next_update_ms(double now_ms) const;

private:
    struct Client {
        double credit_ms = quantum_ms;
        uint32_t unread_steps = 0;
        bool is_waiting = false;
        double grace_end_ms = -std::numeric_limits<double>::infinity();
        bool holds_device = false; ///< others wait for an idle device during its grace

        [[nodiscard]] bool is_in_grace(double now_ms) const {
            return !is_waiting && unread_steps == 0 && now_ms < grace_end_ms;
        }
        [[nodiscard]] bool is_active(double now_ms) const {
            return is_waiting || unread_steps > 0 || is_in_grace(now_ms);
        }
    };
    void note_holders(double now_ms);

    std::map<ClientId, Client> clients_;
    ClientId next_ = 1;
};

} // namespace etna::runtime
