#include "core/grammar/grammar_matcher.hpp"

#include "core/base/utf8.hpp"
#include "core/grammar/arena.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace etna::grammar {
namespace {

/// Step budget of a text and its copies: a third of a second of processor time, replenished by each token.
/// That is more than a walk over a vocabulary of 150'000 tokens takes; JSON Schemas in practice need a
/// hundredth of it.
constexpr int64_t steps_of_text = 33'000'000;
constexpr int64_t steps_of_token = 150'000;
/// Memory that one text may add to languages. A text below this limit moves to another arena when its
/// language is full.
constexpr std::size_t bytes_of_text = std::size_t{64} << 20;
/// Steps per position in a shared arena, during which other matchers are blocked; beyond them the text moves
/// to its own arena.
constexpr uint64_t shared_steps_of_position = 1'000'000;
/// Interval between polls of `stop` while waiting for a arena.
constexpr std::chrono::microseconds wait_for_others{500};

/// The only byte that may come; empty if there are several, or none.
std::optional<uint8_t> only_byte(Language& language, Expression at) {
    std::optional<uint8_t> only;
    for (uint32_t byte = 0; byte < 256; ++byte) {
        if (language.next(at, static_cast<uint8_t>(byte)) == nothing)
            continue;
        if (only)
            return std::nullopt;
        only = static_cast<uint8_t>(byte);
    }
    return only;
}

bool should_stop(const GrammarMatcher::TimeSlice& slice) {
    return slice.stop != nullptr && *slice.stop && (*slice.stop)();
}

} // namespace

GrammarMatcher::GrammarMatcher(std::shared_ptr<const Grammar> grammar)
    : grammar_(std::move(grammar)), state_(grammar_->root()),
      steps_left_(std::make_shared<std::atomic<int64_t>>(steps_of_text)) {}

bool GrammarMatcher::prepare(const Request& request, const TimeSlice& slice) {
    while (!has_results(request)) {
        switch (compute_in_arena(request, slice)) {
        case Outcome::done:
            break;
        case Outcome::stopped:
            return false;
        case Outcome::exhausted:
            is_exhausted_ = true;
            break;
        case Outcome::is_full:
            if (!isolate(slice))
                return false;
        }
    }
    return true;
}

bool GrammarMatcher::has_results(const Request& request) const {
    const bool needs_mask = request.mask || may_end_.value_or(false); // the text may have to end here
    return is_exhausted_ || (may_end_ && (!needs_mask || mask_) &&
                             (request.forced_bytes == 0 || (forced_ && forced_max_ == request.forced_bytes)));
}

/// Computes results in the arena, within the remaining steps.
GrammarMatcher::Outcome GrammarMatcher::compute_in_arena(const Request& request, const TimeSlice& slice) {
    GrammarArena& arena = grammar_->arena();
    std::unique_lock lock(arena.mutex, std::defer_lock);
    while (!lock.try_lock()) {
        if (!slice.may_wait || should_stop(slice))
            return Outcome::stopped;
        std::this_thread::sleep_for(wait_for_others);
    }
    const bool is_shared = arena.is_shared;
    const auto steps_left = static_cast<uint64_t>(std::max<int64_t>(*steps_left_, 0));
    const uint64_t steps_before =
        is_shared ? std::min(steps_left, shared_steps_of_position - steps_here_) : steps_left;
    const std::size_t bytes_before = arena.language.bytes();
    arena.language.set_step_budget(steps_before, false, slice.stop);
    try {
        compute(arena, request);
    } catch (...) { // out of memory: other matchers move to other arenas
        arena.language.give_up();
        arena.note_bytes();
        throw;
    }
    const uint64_t steps = steps_before - arena.language.steps_left();
    const bool is_stopped = arena.language.is_stopped();
    const bool is_out_of_steps = arena.language.is_out_of_steps();
    arena.language.set_step_budget(UINT64_MAX);
    bytes_taken_ += arena.language.bytes() - bytes_before;
    arena.note_bytes();
    *steps_left_ -= static_cast<int64_t>(steps);
    steps_here_ += is_shared ? steps : 0;
    if (arena.language.is_full())
        return bytes_taken_ > bytes_of_text ? Outcome::exhausted : Outcome::is_full;
    if (is_stopped)
        return Outcome::stopped;
    if (!is_out_of_steps)
        return Outcome::done;
    return steps_before < steps_left ? Outcome::is_full : Outcome::exhausted;
}

/// Stores each complete result, so that the next call resumes there.
void GrammarMatcher::compute(GrammarArena& arena, const Request& request) {
    Language& language = arena.language;
    while (consumed_ < text_.size()) {
        const Expression after = language.next(state_, static_cast<uint8_t>(text_[consumed_]));
        if (language.is_spent())
            return;
        state_ = after;
        ++consumed_;
    }
    may_end_ = language.is_nullable(state_);
    if (!mask_ && (request.mask || *may_end_)) {
        TokenMask mask = arena.masks.mask(state_);
        if (language.is_spent())
            return;
        mask_ = std::move(mask);
    }
    if (request.forced_bytes > 0)
        compute_forced(language, request.forced_bytes);
}

void GrammarMatcher::compute_forced(Language& language, std::size_t bytes_max) {
    std::string text;
    for (Expression at = state_; text.size() < bytes_max && !language.is_nullable(at);) {
        const auto only = only_byte(language, at);
        if (language.is_spent())
            return;
        if (!only || *only == control_byte)
            break;
        text.push_back(static_cast<char>(*only));
        at = language.next(at, *only);
    }
    text.resize(valid_utf8_prefix(text));
    forced_ = std::move(text);
    forced_max_ = bytes_max;
}

/// Moves to a separate arena. Returns false if it was stopped.
bool GrammarMatcher::isolate(const TimeSlice& slice) {
    if (!slice.may_move)
        return false;
    auto isolated = grammar_->isolated(slice.stop);
    if (!isolated && isolated.error().kind == ErrorKind::cancelled)
        return false;
    is_exhausted_ = !isolated;
    if (is_exhausted_)
        return true;
    grammar_ = std::move(isolated).value();
    clear_results();
    consumed_ = 0;
    state_ = grammar_->root();
    return true;
}

void GrammarMatcher::clear_results() {
    may_end_.reset();
    mask_.reset();
    forced_.reset();
}

Result<const TokenMask*> GrammarMatcher::mask() {
    prepare({.mask = true}, {});
    if (is_exhausted_) {
        return Error{ErrorKind::unsupported, "the grammar has grown too large to be matched",
                     "make it smaller, or less ambiguous"};
    }
    return &*mask_;
}

bool GrammarMatcher::may_end() {
    prepare({}, {});
    return !is_exhausted_ && *may_end_;
}

Result<bool> GrammarMatcher::is_over() {
    if (!may_end() && !is_exhausted_)
        return false;
    ETNA_TRY(const TokenMask* const all, mask());
    return all->is_empty();
}

std::string GrammarMatcher::forced(std::size_t bytes_max) {
    prepare({.forced_bytes = bytes_max}, {});
    return is_exhausted_ ? "" : *forced_;
}

void GrammarMatcher::accept(TokenId token) {
    clear_results();
    steps_here_ = 0;
    text_ += grammar_->arena().vocabulary->bytes(token);
    if (*steps_left_ < steps_of_text)
        *steps_left_ += steps_of_token;
}

} // namespace etna::grammar
