#pragma once

#include "core/grammar/description.hpp"
#include "core/grammar/language.hpp"
#include "core/grammar/masks.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace etna::grammar {

/// A language and its masks: an arena that grammars share.
struct GrammarArena : std::enable_shared_from_this<GrammarArena> {
    explicit GrammarArena(std::shared_ptr<const Vocabulary> shared_vocabulary)
        : vocabulary(std::move(shared_vocabulary)), masks(language, *vocabulary) {}

    /// Compiles `description` within `steps_left`, which receives the remaining budget, and until `stop`.
    /// `dropped`: as for texts_of(). Precondition: `mutex` is held if others may walk the language.
    Result<Expression> make(const Description& description, uint64_t& steps_left,
                            const Language::Stop* stop = nullptr,
                            std::vector<DroppedKeyword>* dropped = nullptr) {
        auto root = texts_of(language, description, *vocabulary, steps_left, stop, dropped);
        note_bytes();
        return root;
    }
    void note_bytes() {
        bytes = language.bytes() + masks.bytes();
        is_full = language.is_full();
    }

    std::shared_ptr<const Vocabulary> vocabulary;
    std::atomic<std::size_t> bytes = 0;  ///< approximate size; can be read without the mutex
    std::atomic<bool> is_full = false;   ///< mirrors Language::is_full(); as `bytes`
    std::atomic<bool> is_shared = false; ///< may hold grammars of several descriptions
    std::mutex mutex;                    ///< guards all below
    Language language;
    Masks masks;
};

/// A compiled description, in an arena. Thread-safe.
class Grammar {
public:
    Grammar(std::shared_ptr<GrammarArena> arena, Expression root,
            std::shared_ptr<const Description> description, std::vector<DroppedKeyword> dropped = {})
        : arena_(std::move(arena)), root_(root), description_(std::move(description)),
          dropped_(std::move(dropped)) {}

    [[nodiscard]] GrammarArena& arena() const { return *arena_; }
    [[nodiscard]] Expression root() const { return root_; }
    [[nodiscard]] const Description& description() const { return *description_; }
    [[nodiscard]] const std::vector<DroppedKeyword>& dropped() const { return dropped_; }
    /// Returns the same grammar in a separate arena, compiled once while a caller holds it. Blocking, as
    /// GrammarCache::make(). Errors: as that.
    Result<std::shared_ptr<const Grammar>> isolated(const Language::Stop* stop = nullptr) const;

private:
    std::shared_ptr<GrammarArena> arena_;
    Expression root_;
    std::shared_ptr<const Description> description_;
    std::vector<DroppedKeyword> dropped_;           ///< of the description's schemas
    mutable std::timed_mutex mutex_;                ///< guards elsewhere_
    mutable std::weak_ptr<const Grammar> isolated_; ///< owned by the matchers that use it
};

} // namespace etna::grammar
