#pragma once

#include "server/json.hpp"
#include "server/openai/answering.hpp"

#include <memory>
#include <vector>

namespace etna::server::openai {

/// Aggregates the pieces of an answer into the response object of a non-streamed request. Not thread-safe.
class WholeAnswer {
public:
    /// Borrows `answering`. Precondition: its generation has started.
    explicit WholeAnswer(const Answering& answering);

    void add(const Json& piece);
    [[nodiscard]] Json json() const;

private:
    const Answering* answering_;
    std::vector<std::unique_ptr<WholeChoice>> choices_;
};

} // namespace etna::server::openai
