#pragma once

#include "core/generate/events.hpp"
#include "server/api/pending_logprobs.hpp"
#include "server/base/json.hpp"
#include "server/faces/ollama/request.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace etna::server::ollama {

/// Builds the pieces of an answer for the lines of a stream: `message` with content, thinking or a call, or
/// `response` and `thinking`; and `logprobs`. Not thread-safe.
class AnswerPieces {
public:
    /// `pending`: empty without logprobs.
    AnswerPieces(Form form, std::optional<api::PendingLogprobs> pending)
        : form_(form), pending_(std::move(pending)) {}

    /// Returns the members of the next line; null if the event adds none. Those of the last event include
    /// `done_reason`.
    Json take(const generate::Event& event);

    /// Returns the members of a single object with all pieces so far.
    [[nodiscard]] Json whole() const;

    /// The last event; empty before it.
    [[nodiscard]] const std::optional<generate::Finished>& finished() const { return finished_; }

private:
    /// Text and calls of a line, or of the answer.
    struct Piece {
        std::string content = {};
        std::string thinking = {};
        Json calls = Json::array();
        Json logprobs = Json::array();
    };
    /// A call whose arguments are still arriving.
    struct StartedCall {
        std::string id;
        std::string name;
        std::string arguments = {};
    };

    Json take_output(const output::Event& event);
    Json finish(const generate::Finished& finished);
    Json add(Piece piece);
    [[nodiscard]] Json members_of(const Piece& piece) const;
    Json end_call(const output::Event& event);

    Form form_;
    std::optional<api::PendingLogprobs> pending_;
    Piece whole_;
    std::map<std::size_t, StartedCall> calls_; ///< keyed by output::Event::call
    std::optional<generate::Finished> finished_;
    std::string done_reason_;
};

} // namespace etna::server::ollama
