#include "cli/chat/room.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::cli {
namespace {

/// Sets the start of the search; the result does not depend on it.
constexpr std::size_t bytes_per_token = 8;

using Messages = std::vector<chat::Message>;

std::size_t bytes_of(const chat::Message& message) {
    std::size_t bytes = message.content.size() + message.reasoning.size();
    for (const chat::ToolCall& call : message.tool_calls)
        bytes += call.name.size() + call.arguments.size();
    return bytes;
}

/// Searches for the number of turns that fit. Assumes that a prompt with more turns has no fewer tokens.
class Room {
public:
    Room(const generate::Model& model, generate::Request& request, uint32_t reserve_tokens)
        : model_(&model), request_(&request),
          messages_(std::move(std::get<chat::Conversation>(request.prompt).messages)),
          fitting_tokens_(model.context_tokens() - std::min(reserve_tokens, model.context_tokens())),
          head_(!messages_.empty() && messages_.front().role == chat::Role::system ? 1 : 0) {
        for (std::size_t i = head_; i < messages_.size(); ++i) {
            if (messages_[i].role == chat::Role::user)
                begins_.push_back(i);
        }
        if (begins_.empty())
            begins_.push_back(head_);
        begins_.front() = head_; // messages before the first turn are dropped with it
    }

    /// Leaves the turns that fit in the request. Returns the number of messages dropped.
    Result<std::size_t> make() {
        ETNA_TRY(const std::size_t kept, most_that_fit());
        ETNA_TRY(const uint32_t tokens, count(kept));
        if (tokens >= model_->context_tokens()) {
            return Error{ErrorKind::invalid_argument,
                         fmt::format("this turn alone has {} tokens, but the context holds {} with the "
                                     "answer: it is taken back",
                                     tokens, model_->context_tokens()),
                         "make it shorter, or raise --ctx-size"};
        }
        return begin_of(kept) - head_;
    }

private:
    [[nodiscard]] std::size_t turns() const { return begins_.size(); }
    [[nodiscard]] std::size_t begin_of(std::size_t kept) const { return begins_[turns() - kept]; }

    /// Counts the prompt's tokens with only the last `kept` turns, which the request then contains.
    Result<uint32_t> count(std::size_t kept) {
        if (kept == counted_turns_)
            return counted_tokens_;
        Messages& shown = std::get<chat::Conversation>(request_->prompt).messages;
        shown.assign(messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(head_));
        shown.insert(shown.end(), messages_.begin() + static_cast<std::ptrdiff_t>(begin_of(kept)),
                     messages_.end());
        ETNA_TRY(counted_tokens_, count_prompt_tokens(*model_, *request_));
        counted_turns_ = kept;
        return counted_tokens_;
    }

    Result<bool> fits(std::size_t kept) {
        ETNA_TRY(const uint32_t tokens, count(kept));
        return tokens <= fitting_tokens_;
    }

    /// Returns the estimated number of turns that fill the context.
    [[nodiscard]] std::size_t guess() const {
        const std::size_t bytes_max = model_->context_tokens() * bytes_per_token;
        std::size_t bytes = 0;
        std::size_t message = messages_.size();
        while (message > head_ && bytes + bytes_of(messages_[message - 1]) <= bytes_max)
            bytes += bytes_of(messages_[--message]);
        const auto first = std::lower_bound(begins_.begin(), begins_.end(), message);
        return std::max<std::size_t>(1, static_cast<std::size_t>(begins_.end() - first));
    }

    /// Gallops from the guess, then bisects; returns 1 even if one turn is too long.
    Result<std::size_t> most_that_fit() {
        std::size_t most = 1;            // fits, or is the minimum of one turn
        std::size_t least = turns() + 1; // does not fit
        std::size_t next = guess();
        for (std::size_t step = 1; least - most > 1; step *= 2) {
            ETNA_TRY(const bool is_good, fits(next));
            if (is_good) {
                most = next;
                if (least <= turns())
                    break;
                next = std::min(most + step, turns());
            } else {
                least = next;
                if (most > 1 || least == 1)
                    break;
                next = least > step ? std::max<std::size_t>(1, least - step) : 1;
            }
        }
        while (least > most + 1) {
            const std::size_t middle = most + (least - most) / 2;
            ETNA_TRY(const bool is_good, fits(middle));
            (is_good ? most : least) = middle;
        }
        return most;
    }

    const generate::Model* model_;
    generate::Request* request_;
    Messages messages_; ///< all of them
    uint32_t fitting_tokens_;
    std::size_t head_;                ///< number of system messages, which stay
    std::vector<std::size_t> begins_; ///< the first message of each turn
    std::size_t counted_turns_ = 0;
    uint32_t counted_tokens_ = 0;
};

} // namespace

Result<std::size_t> make_room(const generate::Model& model, generate::Request& request,
                              uint32_t reserve_tokens) {
    return Room(model, request, reserve_tokens).make();
}

generate::Request with_last_turn(generate::Request request) {
    Messages& messages = std::get<chat::Conversation>(request.prompt).messages;
    const auto begins_turn = [](const chat::Message& message) { return message.role == chat::Role::user; };
    const auto last = std::find_if(messages.rbegin(), messages.rend(), begins_turn);
    if (last == messages.rend())
        return request;
    const bool has_system = messages.front().role == chat::Role::system;
    messages.erase(messages.begin() + (has_system ? 1 : 0), std::prev(last.base()));
    return request;
}

} // namespace etna::cli
