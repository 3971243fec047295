#pragma once

#include "core/engine/client_shares.hpp"
#include "core/engine/sequence.hpp"

#include <cstddef>
#include <deque>
#include <map>

namespace etna::engine {

/// The sequences that wait to run: a queue for each client, oldest first. Borrows them.
class WaitingLine {
public:
    using Line = std::deque<Sequence*>;

    void insert(Sequence& sequence);
    /// No effect if it does not wait.
    void erase(const Sequence& sequence);

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool contains(const Sequence& sequence) const;
    /// No line is empty.
    [[nodiscard]] const std::map<ClientId, Line>& lines() const { return lines_; }

private:
    std::map<ClientId, Line> lines_;
    std::size_t size_ = 0;
};

} // namespace etna::engine
