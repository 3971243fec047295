#include "core/base/utf8.hpp"
#include "core/grammar/grammars.hpp"
#include "core/grammar/shelf.hpp"
#include "core/grammar/until.hpp"

#include <algorithm>
#include <utility>

namespace etna::grammar {
namespace {

/// What a text and its copies may take of the engine's time: a third of a second at once, and again what
/// each token gives back. That is more than a walk over a vocabulary of 150'000 tokens takes; JSON Schemas of
/// practice need a hundredth of it.
constexpr int64_t steps_of_walk = 33'000'000;
constexpr int64_t steps_of_token = 150'000;
/// What one text may add to languages; whose texts need less goes on elsewhere when others have filled one.
constexpr std::size_t bytes_of_walk = std::size_t{64} << 20;

/// The one byte that may come; empty where there are several, or none.
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

} // namespace

Walk::Walk(std::shared_ptr<const Grammar> grammar)
    : grammar_(std::move(grammar)), state_(grammar_->root()),
      steps_left_(std::make_shared<std::atomic<int64_t>>(steps_of_walk)) {}

/// Does what it can of `work` with the shelf, within the steps and bytes that are left.
template <class Work>
void Walk::on_shelf(const Work& work) {
    Shelf& shelf = grammar_->shelf();
    const std::scoped_lock lock(shelf.mutex);
    const std::size_t bytes_before = shelf.language.bytes();
    const auto steps_before = static_cast<uint64_t>(std::max<int64_t>(*steps_left_, 0));
    shelf.language.allow_steps(steps_before);
    work(shelf);
    is_lost_ |= shelf.language.is_tired();
    *steps_left_ -= static_cast<int64_t>(steps_before - shelf.language.steps_left());
    shelf.language.allow_steps(UINT64_MAX);
    bytes_taken_ += shelf.language.bytes() - bytes_before;
    shelf.note_bytes();
    is_shelf_full_ = shelf.language.is_full();
}

/// on_shelf(), again elsewhere where the language is full. Afterwards what was done is right, or the walk is
/// lost.
template <class Work>
void Walk::follow(const Work& work) {
    on_shelf(work);
    while (is_shelf_full_ && !is_lost_) {
        is_lost_ = bytes_taken_ > bytes_of_walk;
        if (is_lost_)
            return;
        auto elsewhere = grammar_->elsewhere();
        is_lost_ = !elsewhere;
        if (is_lost_)
            return;
        grammar_ = std::move(elsewhere).value();
        on_shelf([&](Shelf& shelf) {
            state_ = shelf.language.next(grammar_->root(), text_);
            work(shelf);
        });
    }
}

Result<const TokenMask*> Walk::mask() {
    if (!mask_ && !is_lost_)
        follow([&](Shelf& shelf) { mask_ = shelf.masks.mask(state_); });
    if (is_lost_) {
        return Error{ErrorKind::unsupported, "the grammar has grown too large to be followed",
                     "make it smaller, or less ambiguous"};
    }
    return &*mask_;
}

bool Walk::may_end() {
    bool may = false;
    follow([&](Shelf& shelf) { may = shelf.language.is_nullable(state_); });
    return may && !is_lost_;
}

Result<bool> Walk::is_over() {
    if (!is_lost_ && !may_end())
        return false;
    ETNA_TRY(const TokenMask* const all, mask());
    return all->is_empty();
}

std::string Walk::forced(std::size_t bytes_max) {
    std::string text;
    follow([&](Shelf& shelf) {
        Language& language = shelf.language;
        text.clear();
        for (Expression at = state_; text.size() < bytes_max && !language.is_nullable(at);) {
            const auto only = only_byte(language, at);
            if (!only || *only == control_byte || language.is_full() || language.is_tired())
                break;
            text.push_back(static_cast<char>(*only));
            at = language.next(at, *only);
        }
    });
    text.resize(is_lost_ ? 0 : valid_utf8_prefix(text));
    return text;
}

void Walk::accept(TokenId token) {
    mask_.reset();
    const std::string_view bytes = grammar_->shelf().vocabulary->bytes(token);
    follow([&](Shelf& shelf) { state_ = shelf.language.next(state_, bytes); });
    text_ += bytes;
    if (*steps_left_ < steps_of_walk)
        *steps_left_ += steps_of_token;
}

} // namespace etna::grammar
