#pragma once

#include <cstdint>
#include <map>

namespace etna::engine {

/// A party that the engine is shared among, such as a user: a number that the caller of the engine chooses.
using ClientId = uint64_t;

/// Counts the batch rows that each client was served. The client with the lowest count is served first. A
/// client that was idle restarts at the lowest count among the others, so idle time earns no credit.
///
/// Source: Sheng et al., Fairness in Serving Large Language Models (OSDI 2024), virtual token counters.
class ClientShares {
public:
    /// Adds, or removes, a sequence of the client.
    void enter(ClientId client);
    void leave(ClientId client);

    /// One of the client's sequences starts, or stops, running. Precondition: the client has a sequence.
    void take_place(ClientId client) { ++shares_.at(client).places; }
    void give_place(ClientId client) { --shares_.at(client).places; }
    [[nodiscard]] uint32_t places(ClientId client) const { return shares_.at(client).places; }

    /// Charges the client for `rows` rows of the batch being built.
    void charge(ClientId client, uint32_t rows) { shares_.at(client).charged += rows; }
    /// Adds the charges to the counts. Until then they do not count, so that the order is stable within a
    /// batch.
    void end_batch();

    /// Whether `a` is served before `b`: it has had fewer rows, or as many rows and has fewer running
    /// sequences.
    [[nodiscard]] bool comes_before(ClientId a, ClientId b) const;

    /// Whether `next` has fewer running sequences than `holder`, and is served before it even if `holder`
    /// runs one less; otherwise `holder` would only take it back.
    [[nodiscard]] bool may_take_place(ClientId next, ClientId holder) const;

    /// Whether `holder` runs at least two sequences more than `next`.
    [[nodiscard]] bool is_crowding(ClientId holder, ClientId next) const {
        return places(holder) > places(next) + 1;
    }

private:
    struct Share {
        uint64_t rows = 0;
        uint32_t charged = 0; ///< rows of the batch being built
        uint32_t places = 0;
        uint32_t sequences = 0;
    };

    std::map<ClientId, Share> shares_; ///< one for each client that has sequences
};

} // namespace etna::engine
