#include "core/engine/client_shares.hpp"

#include <algorithm>
#include <tuple>

namespace etna::engine {

void ClientShares::enter(ClientId client) {
    const auto found = shares_.find(client);
    if (found != shares_.end()) {
        ++found->second.sequences;
        return;
    }
    const auto fewest = std::min_element(shares_.begin(), shares_.end(), [](const auto& a, const auto& b) {
        return a.second.rows < b.second.rows;
    });
    const uint64_t rows = fewest == shares_.end() ? 0 : fewest->second.rows;
    shares_.emplace(client, Share{.rows = rows, .sequences = 1});
}

void ClientShares::leave(ClientId client) {
    const auto found = shares_.find(client);
    if (--found->second.sequences == 0)
        shares_.erase(found);
}

void ClientShares::end_batch() {
    for (auto& [client, share] : shares_) {
        share.rows += share.charged;
        share.charged = 0;
    }
}

bool ClientShares::comes_before(ClientId a, ClientId b) const {
    const Share& one = shares_.at(a);
    const Share& other = shares_.at(b);
    return std::tie(one.rows, one.places, a) < std::tie(other.rows, other.places, b);
}

bool ClientShares::may_take_place(ClientId next, ClientId holder) const {
    const Share& one = shares_.at(next);
    const Share& other = shares_.at(holder);
    return one.places < other.places &&
           std::tuple(one.rows, one.places, next) < std::tuple(other.rows, other.places - 1, holder);
}

} // namespace etna::engine
