#pragma once

#include "core/base/result.hpp"
#include "core/grammar/description.hpp"
#include "core/grammar/masks.hpp"
#include "core/grammar/turns.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace etna::grammar {

/// A compiled description, against which any number of texts can be matched concurrently. Immutable to its
/// holders; thread-safe.
class Grammar;
struct Shelf;

/// Returns the keywords of its schemas that the grammar does not enforce.
const std::vector<DroppedKeyword>& dropped_keywords(const Grammar& grammar);

/// The state of one sequence in a grammar (a matcher), advanced token by token. Matchers of one grammar may
/// run on different threads. Time and memory are bounded: a matcher that an ambiguous grammar exhausts fails
/// alone. A copy advances independently and shares the time budget of the text.
///
/// Results are computed on demand, which may take a third of a second, or ahead of time and in pieces: see
/// prepare().
class GrammarMatcher {
public:
    explicit GrammarMatcher(std::shared_ptr<const Grammar> grammar);

    /// The results to compute for the end of the text.
    struct Wanted {
        bool mask = false;            ///< the tokens that may come next; false: only whether any may
        std::size_t forced_bytes = 0; ///< length limit of forced(); 0: not requested
    };
    /// The limits of one call.
    struct Piece {
        const Language::Stop* stop = nullptr; ///< borrowed; null or empty: runs to completion
        bool may_wait = true;                 ///< for other threads that use the grammar
        bool may_move = true; ///< recompile the grammar on a shelf of its own, so as not to block others
    };
    /// Computes it. Returns false if it was stopped, or `piece` does not allow a step that is needed; the
    /// next call resumes.
    bool prepare(const Wanted& wanted, const Piece& piece);

    /// Returns the tokens that may come next; valid until the next accept(). Errors: unsupported (the grammar
    /// has grown too large to be followed; permanent).
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
    enum class Outcome : uint8_t { done, stopped, is_full, lost };

    [[nodiscard]] bool is_known(const Wanted& wanted) const;
    Outcome find_on_shelf(const Wanted& wanted, const Piece& piece);
    void find(Shelf& shelf, const Wanted& wanted);
    void find_forced(Language& language, std::size_t bytes_max);
    bool go_elsewhere(const Piece& piece);
    void forget_place();

    std::shared_ptr<const Grammar> grammar_;
    std::string text_;         ///< appended so far
    std::size_t followed_ = 0; ///< bytes of text_ that state_ has consumed
    Expression state_;
    std::optional<bool> may_end_; ///< this and the next two: for all of text_
    std::optional<TokenMask> mask_;
    std::optional<std::string> forced_;
    std::size_t forced_max_ = 0;
    std::shared_ptr<std::atomic<int64_t>> steps_left_; ///< shared by all copies; see Language::allow_steps()
    uint64_t steps_here_ = 0;                          ///< taken on a shared shelf since the last token
    std::size_t bytes_taken_ = 0;                      ///< memory added to languages
    bool is_lost_ = false;                             ///< over its limits; permanent
};

/// A cache of the grammars of one vocabulary. Thread-safe; slow compilations do not block matchers.
class GrammarCache {
public:
    /// The bytes of control tokens in `vocabulary` are control_text(); see until.hpp.
    explicit GrammarCache(Vocabulary vocabulary);
    GrammarCache(const GrammarCache&) = delete;
    GrammarCache& operator=(const GrammarCache&) = delete;
    ~GrammarCache();

    /// Returns a cached grammar, or compiles it and computes its first mask. Blocking: compiling takes some
    /// milliseconds, a second at most; slow compilations wait for each other. `stop`: whether the grammar is
    /// no longer needed; polled, may be empty. `client`: the requester; clients take turns. Errors: those of
    /// the notations, with Description::place; unsupported (not even the first mask can be computed);
    /// out_of_memory (grammars in use take too much already); cancelled (stopped).
    Result<std::shared_ptr<const Grammar>> make(const Description& description,
                                                const Language::Stop& stop = {}, uint64_t client = 0);

    static constexpr std::size_t kept_max = 256; ///< cached grammars
    static constexpr std::size_t kept_bytes_max = std::size_t{512} << 20;
    /// Concurrent slow compilations: each may use a processor and all the memory of a language.
    static constexpr std::size_t made_at_a_time = 2;
    /// Concurrent quick compilations.
    static constexpr std::size_t made_quickly_at_a_time = 8;
    /// Memory limits for the grammars, cached or in use, of one client and of all; beyond them none is
    /// compiled.
    static constexpr std::size_t client_bytes_max = std::size_t{512} << 20;
    static constexpr std::size_t bytes_max = std::size_t{1} << 30;
    /// Maximum number of remembered descriptions that were slow to be refused, and how long each is
    /// remembered.
    static constexpr std::size_t refused_max = 16;
    static constexpr std::chrono::seconds refused_for{60};

private:
    /// A description that was refused recently.
    struct Refused {
        Description description;
        Error error;
        std::chrono::steady_clock::time_point until;
    };

    /// A language that lives while one of its grammars is held.
    struct Made {
        std::weak_ptr<const Shelf> shelf;
        uint64_t client = 0; ///< that it was made for
    };

    Result<std::shared_ptr<const Grammar>> find(const Description& description);
    Status check_room(uint64_t client);
    bool has_room(uint64_t client);
    void refuse(const Description& description, const Error& error);
    Result<std::shared_ptr<const Grammar>> make_quickly(const Description& description,
                                                        const Language::Stop& stop, uint64_t client);
    Result<std::shared_ptr<const Grammar>> make_slowly(const Description& description,
                                                       const Language::Stop& stop, uint64_t client);
    std::shared_ptr<const Grammar> kept(const Description& description);
    std::shared_ptr<const Grammar> beside_others(const std::shared_ptr<Shelf>& own,
                                                 const std::shared_ptr<const Description>& description,
                                                 const std::vector<DroppedKeyword>& dropped);
    std::shared_ptr<Shelf> shelf_for(const std::shared_ptr<Shelf>& own);
    std::shared_ptr<const Grammar> keep(std::shared_ptr<const Grammar> made, uint64_t client);
    void drop_old();

    std::shared_ptr<const Vocabulary> vocabulary_;
    Turns turns_{made_at_a_time};                    ///< of slow compilations; before quick_turns_
    Turns quick_turns_{made_quickly_at_a_time};      ///< before mutex_
    std::mutex mutex_;                               ///< guards all below; never held during a compilation
    std::shared_ptr<Shelf> shared_;                  ///< shared by small grammars
    std::list<std::shared_ptr<const Grammar>> kept_; ///< most recently requested first
    std::list<Refused> refused_;                     ///< most recent first
    std::vector<Made> made_;                         ///< languages that are alive
};

} // namespace etna::grammar
