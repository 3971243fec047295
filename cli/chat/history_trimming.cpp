#include "cli/chat/history_trimming.hpp"

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
class HistoryTrimmer {
public:
    HistoryTrimmer(const generate::Model& model, generate::Request& request, uint32_t reserve_tokens)
        : model_(&model), request_(&request),
          messages_(std::move(std::get<chat::Conversation>(request.prompt).messages)),
          fitting_tokens_(model.context_tokens() - std::min(reserve_tokens, model.context_tokens())),
          head_(!messages_.empty() && messages_.front().role == chat::Role::system ? 1 : 0) {
        for (std::size_t i = head_; i < messages_.size(); ++i) {
            if (messages_[i].role == chat::Role::user)
                turn_starts_.push_back(i);
        }
        if (turn_starts_.empty())
            turn_starts_.push_back(head_);
        turn_starts_.front() = head_; // messages before the first turn are dropped with it
    }

    /// Leaves the turns that fit in the request. Returns the number of messages dropped.
    Result<std::size_t> trim() {
        ETNA_TRY(const std::size_t turns, turns_that_fit());
        ETNA_TRY(const uint32_t tokens, count(turns));
        if (tokens >= model_->context_tokens()) {
            return invalid_argument(
                fmt::format("this turn alone has {} tokens; with its answer it must fit in the "
                            "context of {}: it is removed",
                            tokens, model_->context_tokens()),
                "shorten the message, or raise --ctx-size");
        }
        return start_of(turns) - head_;
    }

private:
    [[nodiscard]] std::size_t turn_count() const { return turn_starts_.size(); }
    [[nodiscard]] std::size_t start_of(std::size_t turns) const { return turn_starts_[turn_count() - turns]; }

    /// Counts the prompt's tokens with only the last `turns` turns, which the request then contains.
    Result<uint32_t> count(std::size_t turns) {
        if (turns == counted_turns_)
            return counted_tokens_;
        Messages& shown = std::get<chat::Conversation>(request_->prompt).messages;
        shown.assign(messages_.begin(), messages_.begin() + static_cast<std::ptrdiff_t>(head_));
        shown.insert(shown.end(), messages_.begin() + static_cast<std::ptrdiff_t>(start_of(turns)),
                     messages_.end());
        ETNA_TRY(counted_tokens_, count_prompt_tokens(*model_, *request_));
        counted_turns_ = turns;
        return counted_tokens_;
    }

    Result<bool> fits(std::size_t turns) {
        ETNA_TRY(const uint32_t tokens, count(turns));
        return tokens <= fitting_tokens_;
    }

    /// Returns the estimated number of turns that fill the context.
    [[nodiscard]] std::size_t guess() const {
        const std::size_t bytes_max = model_->context_tokens() * bytes_per_token;
        std::size_t bytes = 0;
        std::size_t message = messages_.size();
        while (message > head_ && bytes + bytes_of(messages_[message - 1]) <= bytes_max)
            bytes += bytes_of(messages_[--message]);
        const auto first = std::lower_bound(turn_starts_.begin(), turn_starts_.end(), message);
        return std::max<std::size_t>(1, static_cast<std::size_t>(turn_starts_.end() - first));
    }

    /// Gallops from the guess, then bisects; returns 1 even if one turn is too long.
    Result<std::size_t> turns_that_fit() {
        std::size_t fitting = 1;                 // fits, or is the minimum of one turn
        std::size_t too_many = turn_count() + 1; // does not fit
        std::size_t next = guess();
        for (std::size_t step = 1; too_many - fitting > 1; step *= 2) {
            ETNA_TRY(const bool is_good, fits(next));
            if (is_good) {
                fitting = next;
                if (too_many <= turn_count())
                    break;
                next = std::min(fitting + step, turn_count());
            } else {
                too_many = next;
                if (fitting > 1 || too_many == 1)
                    break;
                next = too_many > step ? std::max<std::size_t>(1, too_many - step) : 1;
            }
        }
        while (too_many > fitting + 1) {
            const std::size_t middle = fitting + (too_many - fitting) / 2;
            ETNA_TRY(const bool is_good, fits(middle));
            (is_good ? fitting : too_many) = middle;
        }
        return fitting;
    }

    const generate::Model* model_;
    generate::Request* request_;
    Messages messages_; ///< all of them
    uint32_t fitting_tokens_;
    std::size_t head_;                     ///< number of system messages, which stay
    std::vector<std::size_t> turn_starts_; ///< the first message of each turn
    std::size_t counted_turns_ = 0;
    uint32_t counted_tokens_ = 0;
};

} // namespace

Result<std::size_t> trim_history(const generate::Model& model, generate::Request& request,
                                 uint32_t reserve_tokens) {
    return HistoryTrimmer(model, request, reserve_tokens).trim();
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
