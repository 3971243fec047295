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

/// A description that was made ready, to be walked by any number of texts at a time. Immutable for who holds
/// it; thread-safe.
class Grammar;
struct Shelf;

/// The keywords of its schemas that it does not enforce.
const std::vector<DroppedKeyword>& dropped_keywords(const Grammar& grammar);

/// How far one text has come in a grammar, by tokens. Thread-safe towards others of the same grammar, and
/// bounded in what it takes of time and memory: one that is lost to its own ambiguity costs others nothing
/// but that. A copy goes on by itself, and shares the time that the text may take.
///
/// What is asked for is found when it is asked for, which may take a third of a second; or before, in
/// pieces: see prepare().
class Walk {
public:
    explicit Walk(std::shared_ptr<const Grammar> grammar);

    /// What is to be found of the place that the text has come to.
    struct Wanted {
        bool mask = false;            ///< which tokens may come next; else only whether any may
        std::size_t forced_bytes = 0; ///< forced(), so long; 0: not asked for
    };
    /// What a call may take.
    struct Piece {
        const Language::Stop* stop = nullptr; ///< borrowed; null or empty: until it is done
        bool may_wait = true;                 ///< for others that are at work on the grammar
        bool may_move = true; ///< have the grammar made again, to go on where nobody is held up
    };
    /// Finds it. False: it was stopped, or would have had to do what it may not: it is to be called again,
    /// and goes on where it was.
    bool prepare(const Wanted& wanted, const Piece& piece);

    /// Which tokens may come next; kept until the next accept(). Errors: unsupported (the grammar has grown
    /// too large to be followed; it stays so).
    Result<const TokenMask*> mask();
    /// Whether the text may end here.
    [[nodiscard]] bool may_end();
    /// Whether it has to. Errors: as mask().
    Result<bool> is_over();
    /// The bytes that come next in every text, at most `bytes_max`; whole UTF-8 characters, and no control
    /// token.
    [[nodiscard]] std::string forced(std::size_t bytes_max);
    /// Goes on; takes no time. A token that may not come leaves nothing that may.
    void accept(TokenId token);

    /// Where it goes on; another than it began with where that held up others, or had no room.
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
    std::string text_;         ///< so far
    std::size_t followed_ = 0; ///< bytes of it that have led to state_
    Expression state_;
    std::optional<bool> may_end_; ///< this and the next two: of the whole text
    std::optional<TokenMask> mask_;
    std::optional<std::string> forced_;
    std::size_t forced_max_ = 0;
    std::shared_ptr<std::atomic<int64_t>> steps_left_; ///< of all copies: see Language::allow_steps()
    uint64_t steps_here_ = 0;                          ///< taken beside others since the last token
    std::size_t bytes_taken_ = 0;                      ///< of languages
    bool is_lost_ = false;                             ///< it would take more than it may
};

/// The grammars of one vocabulary, kept as long as they may be asked for again. Thread-safe; what takes long
/// to make holds up nobody who walks.
class Grammars {
public:
    /// The bytes of control tokens (see until.hpp) are control_text().
    explicit Grammars(Vocabulary vocabulary);
    Grammars(const Grammars&) = delete;
    Grammars& operator=(const Grammars&) = delete;
    ~Grammars();

    /// Makes a grammar, with the mask that texts begin with, or finds it. Blocking: one that has to be made
    /// takes some milliseconds, a second at most; those that take long wait for each other. `stop`: whether
    /// it is not wanted any more; asked now and then, may be empty. `client`: whom it is for; clients take
    /// turns. Errors: those of the notations, with the text's place; unsupported (not even the first mask can
    /// be had); out_of_memory (grammars that are held take too much already); cancelled (stopped).
    Result<std::shared_ptr<const Grammar>> make(const Description& description,
                                                const Language::Stop& stop = {}, uint64_t client = 0);

    static constexpr std::size_t kept_max = 256; ///< grammars
    static constexpr std::size_t kept_bytes_max = std::size_t{512} << 20;
    /// Of those that take long: each may take a processor and all the memory of a language.
    static constexpr std::size_t made_at_a_time = 2;
    /// Of all others.
    static constexpr std::size_t made_quickly_at_a_time = 8;
    /// Grammars that are kept or held, of one client and of all: no more are made then.
    static constexpr std::size_t client_bytes_max = std::size_t{512} << 20;
    static constexpr std::size_t bytes_max = std::size_t{1} << 30;
    /// Descriptions that took long to be refused are remembered, so many and so long.
    static constexpr std::size_t refused_max = 16;
    static constexpr std::chrono::seconds refused_for{60};

private:
    /// What was refused, not long ago.
    struct Refused {
        Description description;
        Error error;
        std::chrono::steady_clock::time_point until;
    };

    /// A language that lives as long as somebody holds one of its grammars.
    struct Made {
        std::weak_ptr<const Shelf> shelf;
        uint64_t client = 0; ///< for whom it was made
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
    Turns turns_{made_at_a_time};                    ///< of those that take long; before quick_turns_
    Turns quick_turns_{made_quickly_at_a_time};      ///< before mutex_
    std::mutex mutex_;                               ///< of all below; never held while a grammar is made
    std::shared_ptr<Shelf> shared_;                  ///< where small grammars stand together
    std::list<std::shared_ptr<const Grammar>> kept_; ///< the last one asked for first
    std::list<Refused> refused_;                     ///< the last one first
    std::vector<Made> made_;                         ///< those of languages that live
};

} // namespace etna::grammar
