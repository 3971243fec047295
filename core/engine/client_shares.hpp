#pragma once

#include <cstdint>
#include <map>

namespace etna::engine {

/// Whoever the engine's work is shared with: users, by a number that the caller of the engine chooses.
using ClientId = uint64_t;

/// How many rows of the batches each client has had. Who has had the fewest comes first; who comes back after
/// a while without requests has as many as the one of the others that has the fewest, since nobody saves up.
///
/// Source: Sheng et al., Fairness in Serving Large Language Models (OSDI 2024), virtual token counters.
class ClientShares {
public:
    /// A sequence of the client begins to exist, or ends.
    void enter(ClientId client);
    void leave(ClientId client);

    /// One of its sequences gets a place in the batches, or gives it back. Precondition: the client has one.
    void take_place(ClientId client) { ++shares_.at(client).places; }
    void give_place(ClientId client) { --shares_.at(client).places; }
    [[nodiscard]] uint32_t places(ClientId client) const { return shares_.at(client).places; }

    /// So many rows of the batch that is being made are the client's.
    void charge(ClientId client, uint32_t rows) { shares_.at(client).charged += rows; }
    /// What was charged counts from now on, so that the order stays the same within a batch.
    void end_batch();

    /// Whether `a` is to be served before `b`: it has had fewer rows, or as many, and has fewer places.
    [[nodiscard]] bool comes_before(ClientId a, ClientId b) const;

    /// Whether `next` has fewer places than `holder`, and would come before it still if it got one of them:
    /// else the place would only go back.
    [[nodiscard]] bool may_take_place(ClientId next, ClientId holder) const;

    /// Checks that `holder` is two places or more ahead of `next`.
    [[nodiscard]] bool is_crowding(ClientId holder, ClientId next) const {
        return places(holder) > places(next) + 1;
    }

private:
    struct Share {
        uint64_t rows = 0;
        uint32_t charged = 0; ///< rows of the batch that is being made
        uint32_t places = 0;
        uint32_t sequences = 0;
    };

    std::map<ClientId, Share> shares_; ///< of clients that have sequences
};

} // namespace etna::engine
