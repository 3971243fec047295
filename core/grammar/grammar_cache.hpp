#pragma once

#include "core/base/result.hpp"
#include "core/grammar/description.hpp"
#include "core/grammar/grammar_matcher.hpp"
#include "core/grammar/vocabulary.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <semaphore>
#include <vector>

namespace etna::grammar {

/// A cache of the grammars of one vocabulary. Thread-safe; slow compilations do not block matchers.
class GrammarCache {
public:
    /// The bytes of control tokens in `vocabulary` are control_text().
    explicit GrammarCache(Vocabulary vocabulary);
    GrammarCache(const GrammarCache&) = delete;
    GrammarCache& operator=(const GrammarCache&) = delete;
    ~GrammarCache();

    /// Returns a cached grammar, or compiles it and computes its first mask. Blocking: compiling takes some
    /// milliseconds, a second at most; few slow compilations run at a time. `stop`: returns true to cancel;
    /// polled, may be empty. `client`: the requester, whose memory is bounded. Errors: those of the
    /// notations, with Description::place; unsupported (not even the first mask can be computed);
    /// out_of_memory (grammars in use take too much already); cancelled (stopped).
    Result<std::shared_ptr<const Grammar>> make(const Description& description,
                                                const Language::Stop& stop = {}, uint64_t client = 0);

    static constexpr std::size_t cached_max = 256; ///< number of cached grammars
    static constexpr std::size_t cached_bytes_max = std::size_t{512} << 20;
    /// Concurrent slow compilations: each may use a processor and all the memory of a language.
    static constexpr std::ptrdiff_t slow_compilations_max = 2;
    /// Concurrent quick compilations.
    static constexpr std::ptrdiff_t quick_compilations_max = 8;
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

    /// An arena that lives while one of its grammars is in use.
    struct LiveArena {
        std::weak_ptr<const GrammarArena> arena;
        uint64_t client = 0; ///< for which it was created
    };

    Result<std::shared_ptr<const Grammar>> find(const Description& description);
    Status check_memory(uint64_t client);
    bool has_memory(uint64_t client);
    void refuse(const Description& description, const Error& error);
    Result<std::shared_ptr<const Grammar>> compile_quickly(const Description& description,
                                                           const Language::Stop& stop, uint64_t client);
    Result<std::shared_ptr<const Grammar>> compile_slowly(const Description& description,
                                                          const Language::Stop& stop, uint64_t client);
    std::shared_ptr<const Grammar> find_cached(const Description& description);
    std::shared_ptr<const Grammar> compile_shared(const std::shared_ptr<GrammarArena>& own,
                                                  const std::shared_ptr<const Description>& description,
                                                  const std::vector<DroppedKeyword>& dropped);
    std::shared_ptr<GrammarArena> shared_arena(const std::shared_ptr<GrammarArena>& own);
    std::shared_ptr<const Grammar> insert(std::shared_ptr<const Grammar> made, uint64_t client);
    void evict();

    std::shared_ptr<const Vocabulary> vocabulary_;
    std::counting_semaphore<> slow_slots_{slow_compilations_max};
    std::counting_semaphore<> quick_slots_{quick_compilations_max};
    std::mutex mutex_;                                 ///< guards all below; never held during a compilation
    std::shared_ptr<GrammarArena> shared_;             ///< shared by small grammars
    std::list<std::shared_ptr<const Grammar>> cached_; ///< most recently requested first
    std::list<Refused> refused_;                       ///< most recent first
    std::vector<LiveArena> live_arenas_;               ///< all that are in use
};

} // namespace etna::grammar
