#pragma once

#include "core/engine/client_shares.hpp"
#include "core/engine/sequence.hpp"

#include <cstddef>
#include <deque>
#include <map>

namespace etna::engine {

/// The sequences that wait for a place in the batches: a line for each client, oldest first. Borrows them.
class WaitingLine {
public:
    using Line = std::deque<Sequence*>;

    void insert(Sequence& sequence);
    /// Nothing happens where it does not wait.
    void erase(const Sequence& sequence);

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool contains(const Sequence& sequence) const;
    /// None is empty.
    [[nodiscard]] const std::map<ClientId, Line>& lines() const { return lines_; }

private:
    std::map<ClientId, Line> lines_;
    std::size_t size_ = 0;
};

} // namespace etna::engine
