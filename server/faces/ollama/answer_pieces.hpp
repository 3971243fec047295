#pragma once

#include "core/generate/collected_answer.hpp"
#include "server/base/json.hpp"
#include "server/faces/ollama/request.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace etna::server::ollama {

/// Returns the members of a single object with the whole answer: `message` with content, thinking and calls,
/// or `response` and `thinking`; `logprobs`; and `done_reason`. Precondition: the answer is finished.
Json answer_members(Form form, const generate::CollectedAnswer& answer);

/// Builds the pieces of an answer for the lines of a stream, each with the members of answer_members() that
/// it adds to. Not thread-safe.
class AnswerPieces {
public:
    /// `pending`: empty without logprobs.
    AnswerPieces(Form form, std::optional<generate::PendingLogprobs> pending)
        : form_(form), pending_(std::move(pending)) {}

    /// Returns the members of the next line; null if the event adds none. Those of the last event include
    /// `done_reason`. `answer`: with this event.
    Json take(const generate::Event& event, const generate::CollectedAnswer& answer);

private:
    Json take_output(const output::Event& event, const generate::CollectedAnswer& answer);
    Json members(std::string content, std::string thinking = {}, Json calls = Json::array());

    Form form_;
    std::optional<generate::PendingLogprobs> pending_;
};

} // namespace etna::server::ollama
