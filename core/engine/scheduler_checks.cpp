#include "core/engine/scheduler.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include <fmt/format.h>

namespace etna::engine {
namespace {

Error refused(std::string message, std::string hint = {}) {
    return {ErrorKind::invalid_argument, std::move(message), std::move(hint)};
}

Error broken(const Sequence& sequence, const char* what) {
    return {ErrorKind::internal,
            fmt::format("request {} {}: {} tokens, {} computed, {} unread", sequence.id.request, what,
                        sequence.length(), sequence.computed, sequence.unread)};
}

Status verify_sequence(const Sequence& sequence, bool is_running) {
    const bool holds_pages = std::any_of(sequence.pages.groups.begin(), sequence.pages.groups.end(),
                                         [](const auto& table) { return !table.empty(); });
    const bool should_run =
        sequence.state == SequenceState::prefill || sequence.state == SequenceState::decode;
    if (is_running != should_run || is_running != holds_pages)
        return broken(sequence, "holds pages or runs where it should not, or the reverse");
    if (sequence.kinds.size() != sequence.tokens.size())
        return broken(sequence, "has lost count of its kinds of rows");
    if (sequence.computed > sequence.expected_length() + sequence.drafts_in_flight() ||
        sequence.length() >= sequence.length_max + (sequence.following.waits ? 1 : 0))
        return broken(sequence, "went past its end");
    return {};
}

} // namespace

Status check(const Request& request, const Limits& limits) {
    const std::size_t length = request.prompt.size();
    if (length == 0)
        return refused("the prompt is empty", "give at least one token");
    if (length >= limits.context_tokens) {
        return refused(fmt::format("the prompt has {} tokens, and the context holds {} with the answer",
                                   length, limits.context_tokens),
                       "shorten the prompt or enlarge the context");
    }
    for (std::size_t i = 0; i < length; ++i) {
        if (request.prompt[i] >= limits.vocabulary) {
            return refused(fmt::format("token {} of the prompt is {}, outside the vocabulary of {}", i,
                                       request.prompt[i], limits.vocabulary));
        }
    }
    if (!request.kinds.empty() && request.kinds.size() != length)
        return refused(fmt::format("{} kinds of rows for {} tokens", request.kinds.size(), length));
    if (request.max_tokens == 0U)
        return refused("max_tokens is 0", "ask for at least one token");
    for (const CacheGroup& group : limits.groups) {
        const uint32_t pages = divide_up(static_cast<uint32_t>(length), limits.page_tokens);
        if (pages > group.page_count) {
            return refused(fmt::format("the prompt of {} tokens needs {} cache pages, and there are {}",
                                       length, pages, group.page_count),
                           "shorten the prompt or give the cache more memory");
        }
    }
    const uint32_t candidates = std::max(request.top_candidates, request.prompt_candidates.value_or(0));
    if (candidates > limits.candidates_max) {
        return refused(fmt::format("{} top candidates are wanted, and at most {} can be had", candidates,
                                   limits.candidates_max));
    }
    if (request.beams)
        ETNA_CHECK(check(*request.beams));
    if (request.speculation)
        ETNA_CHECK(check(*request.speculation, limits.vocabulary));
    ETNA_CHECK(sampling::check(request.logit_bias, limits.vocabulary));
    return sampling::check(request.sampling);
}

Status check(const Limits& limits) {
    struct Bound {
        const char* name;
        uint32_t value;
    };
    const std::array<Bound, 8> bounds = {{{"vocabulary", limits.vocabulary},
                                          {"page_tokens", limits.page_tokens},
                                          {"context_tokens", limits.context_tokens},
                                          {"rows_max", limits.batch_rows_max},
                                          {"sequences_max", limits.sequences_max},
                                          {"slots", limits.slots},
                                          {"wanted_max", limits.output_rows_max},
                                          {"in_flight_max", limits.in_flight_max}}};
    for (const Bound& bound : bounds) {
        if (bound.value == 0)
            return refused(fmt::format("the executor's {} is 0", bound.name));
    }
    if (limits.groups.empty())
        return refused("the executor has no cache group");
    for (std::size_t group = 0; group < limits.groups.size(); ++group) {
        if (limits.groups[group].page_count == 0)
            return refused(fmt::format("the executor's cache group {} has no pages", group));
    }
    return {};
}

Status Scheduler::verify() const {
    std::vector<const PageTables*> tables;
    for (const auto& [id, sequence] : sequences_) {
        const bool is_running = std::find(running_.begin(), running_.end(), &sequence) != running_.end();
        const bool is_waiting = waiting_.contains(sequence);
        if (is_running == is_waiting)
            return broken(sequence, "stands in both lists, or none");
        ETNA_CHECK(verify_sequence(sequence, is_running));
        tables.push_back(&sequence.pages);
    }
    if (running_.size() + waiting_.size() != sequences_.size())
        return Error{ErrorKind::internal, "a list of requests names one twice, or one that ended"};
    std::vector<bool> slot_is_used(limits_.slots);
    std::size_t used = free_slots_.size();
    for (const uint32_t slot : free_slots_)
        slot_is_used[slot] = true;
    for (const Step& step : steps_) {
        for (const Wanted& wanted : step) {
            if (!wanted.slot)
                continue;
            slot_is_used[*wanted.slot] = true;
            ++used;
        }
    }
    if (used != limits_.slots ||
        std::find(slot_is_used.begin(), slot_is_used.end(), false) != slot_is_used.end())
        return Error{ErrorKind::internal, "a slot was lost, or is used twice"};
    return cache_.verify(tables);
}

} // namespace etna::engine
