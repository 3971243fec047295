#pragma once

#include "core/base/cancel.hpp"
#include "server/api/active_request.hpp"
#include "server/faces/responses/request.hpp"

#include <cstddef>
#include <vector>

namespace etna::server::responses {

/// The prompt of a response: the prior context and the request's own items, without the oldest ones if they
/// are truncated. Not thread-safe.
class ResponsePrompt {
public:
    explicit ResponsePrompt(Purpose purpose) : purpose_(purpose) {}

    /// Joins the prior context and the request's items, which get unique ids, without calls that were cut
    /// off. Resolves references and sealed items. Errors: those of resolve_references() and unseal(), 400 (a
    /// result without its call).
    ApiStatus load(Persistence& persistence, const storage::Owner& owner, const Json& context,
                   Request& request);

    /// All model input except the instructions.
    [[nodiscard]] const Json& items() const { return items_; }

    /// Returns the items left after truncation, without results of truncated calls.
    [[nodiscard]] Json remaining_items() const;

    /// Returns the number of items that truncation removed, with results of truncated calls.
    [[nodiscard]] std::size_t truncated_count() const;

    /// Returns the generation of the response. Precondition here and below: the model of `active` is
    /// acquired. Errors: those of generation_call(), and 400 (no input).
    ApiResult<api::GenerationCall> call(const api::ActiveRequest& active, const Request& request) const;

    /// Counts its tokens, without generating. `is_cancelled` is polled while waiting. Errors: those of call()
    /// and ActiveRequest::count_prompt().
    ApiResult<std::size_t> count(api::ActiveRequest& active, const Request& request,
                                 const CancelPoll& is_cancelled) const;

    /// Returns whether truncation can remove more items.
    [[nodiscard]] bool can_truncate() const;

    /// Removes one more of the oldest items. Precondition: can_truncate().
    void truncate_one() { ++truncated_; }

    /// Limits on prompt tokens.
    struct Limits {
        std::size_t max;
        std::size_t after_truncation;
    };

    /// Returns the maximum, and the target of truncation, which leaves room for the requested answer, up to a
    /// fraction of the context.
    [[nodiscard]] static Limits limits(const api::ActiveRequest& active, const Request& request);

    /// Removes the fewest oldest items with which the prompt has at most Limits::after_truncation tokens: up
    /// to a user message, so that templates that require alternating turns work; up to any item if that is
    /// not enough. Removes all that can be removed if nothing suffices.
    void truncate(api::ActiveRequest& active, const Request& request, const CancelPoll& is_cancelled);

private:
    bool truncate_to_first_fit(const std::vector<std::size_t>& starts, std::size_t tokens_max,
                               api::ActiveRequest& active, const Request& request,
                               const CancelPoll& is_cancelled);

    Purpose purpose_;
    Json items_;
    std::size_t truncated_ = 0; ///< number of oldest items removed
};

} // namespace etna::server::responses
