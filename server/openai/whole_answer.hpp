#pragma once

#include "server/json.hpp"
#include "server/openai/answering.hpp"

#include <memory>
#include <vector>

namespace etna::server::openai {

/// Adds the pieces of an answer up to the object that a client gets who asked for no stream. Not thread-safe.
class WholeAnswer {
public:
    /// Precondition: it has begun. Borrows it.
    explicit WholeAnswer(const Answering& answering);

    void add(const Json& piece);
    [[nodiscard]] Json json() const;

private:
    const Answering* answering_;
    std::vector<std::unique_ptr<WholeChoice>> choices_;
};

} // namespace etna::server::openai
