#pragma once

#include "core/base/result.hpp"
#include "core/grammar/description.hpp"
#include "core/grammar/masks.hpp"
#include "core/grammar/turns.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace etna::grammar {

/// A description that was made ready, to be walked by any number of texts at a time. Immutable for who holds
/// it; thread-safe.
class Grammar;
struct Shelf;

/// How far one text has come in a grammar, by tokens. Thread-safe towards others of the same grammar, and
/// bounded in what it takes of time and memory: one that is lost to its own ambiguity costs others nothing
/// but that. A copy goes on by itself, and shares the time that the text may take.
class Walk {
public:
    explicit Walk(std::shared_ptr<const Grammar> grammar);

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
    /// Goes on. A token that may not come leaves nothing that may.
    void accept(TokenId token);

private:
    template <class Work>
    void on_shelf(const Work& work);
    template <class Work>
    void follow(const Work& work);

    std::shared_ptr<const Grammar> grammar_;
    Expression state_;
    std::string text_; ///< so far
    std::optional<TokenMask> mask_;
    std::shared_ptr<std::atomic<int64_t>> steps_left_; ///< of all copies: see Language::allow_steps()
    std::size_t bytes_taken_ = 0;                      ///< of languages
    bool is_shelf_full_ = false;
    bool is_lost_ = false; ///< it would take more than it may
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

    /// Makes a grammar, or finds it. Blocking: one that has to be made takes some milliseconds, a second at
    /// most, behind others that are being made. Errors: those of the notations, with the text's place.
    Result<std::shared_ptr<const Grammar>> make(const Description& description);

    static constexpr std::size_t kept_max = 256; ///< grammars
    static constexpr std::size_t kept_bytes_max = std::size_t{512} << 20;
    /// Each may take a processor and all the memory of a language while it is made.
    static constexpr std::size_t made_at_a_time = 2;

private:
    std::shared_ptr<const Grammar> find(const Description& description);
    std::shared_ptr<const Grammar> kept(const Description& description);
    std::shared_ptr<const Grammar> beside_others(const std::shared_ptr<Shelf>& own,
                                                 const std::shared_ptr<const Description>& description);
    std::shared_ptr<Shelf> shelf_for(const std::shared_ptr<Shelf>& own);
    std::shared_ptr<const Grammar> keep(std::shared_ptr<const Grammar> made);
    void drop_old();

    std::shared_ptr<const Vocabulary> vocabulary_;
    Turns turns_{made_at_a_time};                    ///< of those that are made; taken before mutex_
    std::mutex mutex_;                               ///< of all below; never held while a grammar is made
    std::shared_ptr<Shelf> shared_;                  ///< where small grammars stand together
    std::list<std::shared_ptr<const Grammar>> kept_; ///< the last one asked for first
};

} // namespace etna::grammar
