#include "core/base/utf8.hpp"
#include "core/grammar/grammars.hpp"
#include "core/grammar/shelf.hpp"
#include "core/grammar/until.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace etna::grammar {
namespace {

/// Step budget of a text and its copies: a third of a second of processor time, replenished by each token.
/// That is more than a walk over a vocabulary of 150'000 tokens takes; JSON Schemas in practice need a
/// hundredth of it.
constexpr int64_t steps_of_walk = 33'000'000;
constexpr int64_t steps_of_token = 150'000;
/// Memory that one text may add to languages. A text below this limit moves to another shelf when its
/// language is full.
constexpr std::size_t bytes_of_walk = std::size_t{64} << 20;
/// Steps per position on a shared shelf, where they block other matchers; beyond them the text moves to a
/// shelf of its own.
constexpr uint64_t shared_steps_of_place = 1'000'000;
/// Interval between polls of `stop` while waiting for a shelf.
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

bool should_stop(const GrammarMatcher::Piece& piece) {
    return piece.stop != nullptr && *piece.stop && (*piece.stop)();
}

} // namespace

GrammarMatcher::GrammarMatcher(std::shared_ptr<const Grammar> grammar)
    : grammar_(std::move(grammar)), state_(grammar_->root()),
      steps_left_(std::make_shared<std::atomic<int64_t>>(steps_of_walk)) {}

bool GrammarMatcher::prepare(const Wanted& wanted, const Piece& piece) {
    while (!is_known(wanted)) {
        switch (find_on_shelf(wanted, piece)) {
        case Outcome::done:
            break;
        case Outcome::stopped:
            return false;
        case Outcome::lost:
            is_lost_ = true;
            break;
        case Outcome::is_full:
            if (!go_elsewhere(piece))
                return false;
        }
    }
    return true;
}

bool GrammarMatcher::is_known(const Wanted& wanted) const {
    const bool needs_mask = wanted.mask || may_end_.value_or(false); // the text may have to end here
    return is_lost_ || (may_end_ && (!needs_mask || mask_) &&
                        (wanted.forced_bytes == 0 || (forced_ && forced_max_ == wanted.forced_bytes)));
}

/// Computes what it can on the shelf, within the remaining steps.
GrammarMatcher::Outcome GrammarMatcher::find_on_shelf(const Wanted& wanted, const Piece& piece) {
    Shelf& shelf = grammar_->shelf();
    std::unique_lock lock(shelf.mutex, std::defer_lock);
    while (!lock.try_lock()) {
        if (!piece.may_wait || should_stop(piece))
            return Outcome::stopped;
        std::this_thread::sleep_for(wait_for_others);
    }
    const bool is_shared = shelf.is_shared;
    const auto steps_left = static_cast<uint64_t>(std::max<int64_t>(*steps_left_, 0));
    const uint64_t steps_before =
        is_shared ? std::min(steps_left, shared_steps_of_place - steps_here_) : steps_left;
    const std::size_t bytes_before = shelf.language.bytes();
    shelf.language.allow_steps(steps_before, false, piece.stop);
    try {
        find(shelf, wanted);
    } catch (...) { // out of memory: other matchers move to other shelves
        shelf.language.give_up();
        shelf.note_bytes();
        throw;
    }
    const uint64_t steps = steps_before - shelf.language.steps_left();
    const bool is_stopped = shelf.language.is_stopped();
    const bool is_tired = shelf.language.is_tired();
    shelf.language.allow_steps(UINT64_MAX);
    bytes_taken_ += shelf.language.bytes() - bytes_before;
    shelf.note_bytes();
    *steps_left_ -= static_cast<int64_t>(steps);
    steps_here_ += is_shared ? steps : 0;
    if (shelf.language.is_full())
        return bytes_taken_ > bytes_of_walk ? Outcome::lost : Outcome::is_full;
    if (is_stopped)
        return Outcome::stopped;
    if (!is_tired)
        return Outcome::done;
    return steps_before < steps_left ? Outcome::is_full : Outcome::lost;
}

/// Stores each complete result, so that the next call resumes there.
void GrammarMatcher::find(Shelf& shelf, const Wanted& wanted) {
    Language& language = shelf.language;
    while (followed_ < text_.size()) {
        const Expression after = language.next(state_, static_cast<uint8_t>(text_[followed_]));
        if (language.is_spent())
            return;
        state_ = after;
        ++followed_;
    }
    may_end_ = language.is_nullable(state_);
    if (!mask_ && (wanted.mask || *may_end_)) {
        TokenMask mask = shelf.masks.mask(state_);
        if (language.is_spent())
            return;
        mask_ = std::move(mask);
    }
    if (wanted.forced_bytes > 0)
        find_forced(language, wanted.forced_bytes);
}

void GrammarMatcher::find_forced(Language& language, std::size_t bytes_max) {
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

/// Returns whether it now has a shelf of its own, or is lost.
bool GrammarMatcher::go_elsewhere(const Piece& piece) {
    if (!piece.may_move)
        return false;
    auto elsewhere = grammar_->elsewhere(piece.stop);
    if (!elsewhere && elsewhere.error().kind == ErrorKind::cancelled)
        return false;
    is_lost_ = !elsewhere;
    if (is_lost_)
        return true;
    grammar_ = std::move(elsewhere).value();
    forget_place();
    followed_ = 0;
    state_ = grammar_->root();
    return true;
}

void GrammarMatcher::forget_place() {
    may_end_.reset();
    mask_.reset();
    forced_.reset();
}

Result<const TokenMask*> GrammarMatcher::mask() {
    prepare({.mask = true}, {});
    if (is_lost_) {
        return Error{ErrorKind::unsupported, "the grammar has grown too large to be followed",
                     "make it smaller, or less ambiguous"};
    }
    return &*mask_;
}

bool GrammarMatcher::may_end() {
    prepare({}, {});
    return !is_lost_ && *may_end_;
}

Result<bool> GrammarMatcher::is_over() {
    if (!may_end() && !is_lost_)
        return false;
    ETNA_TRY(const TokenMask* const all, mask());
    return all->is_empty();
}

std::string GrammarMatcher::forced(std::size_t bytes_max) {
    prepare({.forced_bytes = bytes_max}, {});
    return is_lost_ ? "" : *forced_;
}

void GrammarMatcher::accept(TokenId token) {
    forget_place();
    steps_here_ = 0;
    text_ += grammar_->shelf().vocabulary->bytes(token);
    if (*steps_left_ < steps_of_walk)
        *steps_left_ += steps_of_token;
}

} // namespace etna::grammar
