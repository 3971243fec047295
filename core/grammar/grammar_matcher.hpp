#pragma once

#include "core/base/result.hpp"
#include "core/grammar/description.hpp"
#include "core/grammar/masks.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace etna::grammar {

/// A compiled description, against which any number of texts can be matched concurrently. Immutable to its
/// holders; thread-safe.
class Grammar;
struct GrammarArena;

/// Returns the keywords of its schemas that the grammar does not enforce.
const std::vector<DroppedKeyword>& dropped_keywords(const Grammar& grammar);

/// The state of one sequence in a grammar (a matcher), advanced token by token. Matchers of one grammar may
/// run on different threads. Time and memory are bounded: a matcher that an ambiguous grammar exhausts fails
/// alone. A copy advances independently and shares the time budget of the text.
///
/// Results are computed on demand, which may take a third of a second, or ahead of time and in time slices:
/// see prepare().
class GrammarMatcher {
public:
    explicit GrammarMatcher(std::shared_ptr<const Grammar> grammar);

    /// The results to compute for the end of the text.
    struct Request {
        bool mask = false;            ///< the tokens that may come next; false: only whether any may
        std::size_t forced_bytes = 0; ///< length limit of forced(); 0: not requested
    };
    /// The limits of one call.
    struct TimeSlice {
        const Language::Stop* stop = nullptr; ///< borrowed; null or empty: runs to completion
        bool may_wait = true;                 ///< for other threads that use the grammar
        bool may_move =
            true; ///< to another arena, in which the grammar is compiled again, so as not to block others
    };
    /// Computes it. Returns false if it was stopped, or `slice` does not allow a step that is needed; the
    /// next call resumes.
    bool prepare(const Request& request, const TimeSlice& slice);

    /// Returns the tokens that may come next; valid until the next accept(). Errors: unsupported (the grammar
    /// has grown too large to be matched; permanent).
    Result<const TokenMask*> mask();
    /// Whether the text may end here.
    [[nodiscard]] bool may_end();
    /// Whether it has to end here. Errors: as mask().
    Result<bool> is_over();
    /// Returns the bytes that come next in every text, at most `bytes_max`; complete UTF-8 characters, and no
    /// control token.
    [[nodiscard]] std::string forced(std::size_t bytes_max);
    /// Appends a token; the work is deferred. After a token that is not allowed, none is.
    void accept(TokenId token);

    /// The grammar in use; differs from the initial one if that blocked others, or was full.
    [[nodiscard]] const std::shared_ptr<const Grammar>& grammar() const { return grammar_; }

private:
    enum class Outcome : uint8_t { done, stopped, is_full, exhausted };

    [[nodiscard]] bool has_results(const Request& request) const;
    Outcome compute_in_arena(const Request& request, const TimeSlice& slice);
    void compute(GrammarArena& arena, const Request& request);
    void compute_forced(Language& language, std::size_t bytes_max);
    bool isolate(const TimeSlice& slice);
    void clear_results();

    std::shared_ptr<const Grammar> grammar_;
    std::string text_;         ///< all appended bytes
    std::size_t consumed_ = 0; ///< bytes of text_ that state_ has consumed
    Expression state_;
    std::optional<bool> may_end_; ///< this and the next two: for all of text_
    std::optional<TokenMask> mask_;
    std::optional<std::string> forced_;
    std::size_t forced_max_ = 0;
    std::shared_ptr<std::atomic<int64_t>>
        steps_left_;              ///< shared by all copies; see Language::set_step_budget()
    uint64_t steps_here_ = 0;     ///< taken in a shared arena since the last token
    std::size_t bytes_taken_ = 0; ///< memory added to languages
    bool is_exhausted_ = false;   ///< over its limits; permanent
};

} // namespace etna::grammar
