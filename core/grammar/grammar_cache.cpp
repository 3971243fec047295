#include "core/grammar/grammar_cache.hpp"

#include "core/grammar/arena.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace etna::grammar {
namespace {

/// A grammar that takes more steps to compile gets its own arena, because recompiling it in the shared one
/// blocks matchers there. This is some milliseconds; nearly all JSON Schemas in practice take
/// less. Such a grammar also waits for a slow slot; quicker ones never do.
constexpr uint64_t shared_steps_max = 500'000;
/// Maximum size of a refused description that is remembered.
constexpr std::size_t refused_bytes_max = std::size_t{1} << 20;
/// Maximum size of a shared language that accepts another grammar.
constexpr std::size_t arena_bytes_max = std::size_t{64} << 20;

std::size_t bytes_of(const Description& description) {
    std::size_t bytes = sizeof(Description) + description.text.size();
    for (const std::string& choice : description.choices)
        bytes += sizeof(std::string) + choice.size();
    for (const auto* const parts : {&description.parts, &description.ends_reasoning}) {
        for (const Description& part : *parts)
            bytes += bytes_of(part);
    }
    return bytes;
}

Error cancelled() {
    return {ErrorKind::cancelled, "the grammar was cancelled"};
}

/// A slot of a semaphore, held until it is destroyed. Borrows the semaphore.
class Slot {
public:
    /// Blocks until a slot is free, or until `stop` returns true: it is polled, and may be empty.
    Slot(std::counting_semaphore<>& slots, const Language::Stop& stop) : slots_(&slots) {
        constexpr std::chrono::milliseconds stop_poll{50};
        while (!is_held_ && !(stop && stop()))
            is_held_ = slots_->try_acquire_for(stop_poll);
    }
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;
    ~Slot() {
        if (is_held_)
            slots_->release();
    }

    [[nodiscard]] bool is_held() const { return is_held_; }

private:
    std::counting_semaphore<>* slots_;
    bool is_held_ = false;
};

} // namespace

Result<std::shared_ptr<const Grammar>> Grammar::isolated(const Language::Stop* stop) const {
    constexpr std::chrono::milliseconds stop_poll{1};
    std::unique_lock lock(mutex_, std::defer_lock);
    while (!lock.try_lock_for(stop_poll)) { // another text is compiling it
        if (stop != nullptr && *stop && (*stop)())
            return cancelled();
    }
    if (auto known = isolated_.lock())
        return known;
    auto own = std::make_shared<GrammarArena>(arena_->vocabulary);
    uint64_t steps_left = steps_of_compilation;
    ETNA_TRY(const Expression root, own->make(*description_, steps_left, stop));
    auto made = std::make_shared<const Grammar>(std::move(own), root, description_, dropped_);
    isolated_ = made;
    return made;
}

const std::vector<DroppedKeyword>& dropped_keywords(const Grammar& grammar) {
    return grammar.dropped();
}

GrammarCache::GrammarCache(Vocabulary vocabulary)
    : vocabulary_(std::make_shared<const Vocabulary>(std::move(vocabulary))),
      shared_(std::make_shared<GrammarArena>(vocabulary_)) {}

GrammarCache::~GrammarCache() = default;

/// Returns the cached grammar, or null. Errors: that of a recent refusal.
Result<std::shared_ptr<const Grammar>> GrammarCache::find(const Description& description) {
    const std::scoped_lock lock(mutex_);
    evict(); // cached grammars may have grown
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(refused_, [&](const Refused& one) { return one.until < now; });
    const auto refused = std::find_if(refused_.begin(), refused_.end(),
                                      [&](const Refused& one) { return one.description == description; });
    if (refused != refused_.end())
        return refused->error;
    return find_cached(description);
}

void GrammarCache::refuse(const Description& description, const Error& error) {
    if (bytes_of(description) > refused_bytes_max)
        return;
    const std::scoped_lock lock(mutex_);
    refused_.push_front({description, error, std::chrono::steady_clock::now() + refused_for});
    if (refused_.size() > refused_max)
        refused_.pop_back();
}

std::shared_ptr<const Grammar> GrammarCache::find_cached(const Description& description) {
    const auto known = std::find_if(cached_.begin(), cached_.end(),
                                    [&](const auto& one) { return one->description() == description; });
    if (known == cached_.end())
        return nullptr;
    cached_.splice(cached_.begin(), cached_, known);
    return cached_.front();
}

Result<std::shared_ptr<const Grammar>> GrammarCache::make(const Description& description,
                                                          const Language::Stop& stop, uint64_t client) {
    ETNA_TRY(auto made, find(description));
    if (made == nullptr) {
        ETNA_TRY(made, compile_quickly(description, stop, client));
    }
    if (made != nullptr)
        return made;
    const Slot slot(slow_slots_, stop);
    if (!slot.is_held())
        return cancelled();
    ETNA_TRY(made, find(description));
    if (made != nullptr) // another thread has compiled it
        return made;
    auto own = compile_slowly(description, stop, client);
    if (!own && own.error().kind == ErrorKind::unsupported)
        refuse(description, own.error());
    return own;
}

/// Drops cached grammars before refusing a new one. Errors: out_of_memory.
Status GrammarCache::check_memory(uint64_t client) {
    std::list<std::shared_ptr<const Grammar>>
        leaving; // destroyed without the mutex, because that may be slow
    {
        const std::scoped_lock lock(mutex_);
        if (has_memory(client))
            return {};
        leaving.swap(cached_);
    }
    leaving.clear();
    const std::scoped_lock lock(mutex_);
    if (has_memory(client))
        return {};
    return Error{ErrorKind::out_of_memory, "the grammars of running requests take too much memory",
                 "retry when some of them have finished, or make the grammar smaller"};
}

bool GrammarCache::has_memory(uint64_t client) {
    std::size_t bytes = 0;
    std::size_t own_bytes = 0;
    std::erase_if(live_arenas_, [&](const LiveArena& one) {
        const auto arena = one.arena.lock();
        if (arena == nullptr)
            return true;
        bytes += arena->bytes;
        own_bytes += one.client == client ? arena->bytes.load() : 0;
        return false;
    });
    return bytes <= bytes_max && own_bytes <= client_bytes_max;
}

/// Compiles in the shared arena, if that takes few steps. Null: it takes more.
Result<std::shared_ptr<const Grammar>>
GrammarCache::compile_quickly(const Description& description, const Language::Stop& stop, uint64_t client) {
    const Slot slot(quick_slots_, stop);
    if (!slot.is_held())
        return cancelled();
    ETNA_CHECK(check_memory(client));
    auto own = std::make_shared<GrammarArena>(vocabulary_);
    uint64_t steps_left = shared_steps_max;
    std::vector<DroppedKeyword> dropped;
    const auto root = own->make(description, steps_left, &stop, &dropped);
    if (!root && steps_left == 0)
        return std::shared_ptr<const Grammar>();
    if (!root)
        return root.error();
    const auto shared_description = std::make_shared<const Description>(description);
    auto made = compile_shared(own, shared_description, dropped);
    if (made == nullptr)
        made = std::make_shared<const Grammar>(own, *root, shared_description, std::move(dropped));
    GrammarMatcher first(made);
    if (!first.prepare({.mask = true}, {.stop = &stop, .may_move = false})) {
        if (stop && stop())
            return cancelled();
        return std::shared_ptr<const Grammar>();
    }
    ETNA_CHECK(first.mask());
    return insert(std::move(made), client);
}

Result<std::shared_ptr<const Grammar>>
GrammarCache::compile_slowly(const Description& description, const Language::Stop& stop, uint64_t client) {
    ETNA_CHECK(check_memory(client));
    auto own = std::make_shared<GrammarArena>(vocabulary_);
    uint64_t steps_left = steps_of_compilation;
    std::vector<DroppedKeyword> dropped;
    ETNA_TRY(const Expression root, own->make(description, steps_left, &stop, &dropped));
    auto made = std::make_shared<const Grammar>(own, root, std::make_shared<const Description>(description),
                                                std::move(dropped));
    GrammarMatcher first(made);
    if (!first.prepare({.mask = true}, {.stop = &stop}))
        return cancelled();
    ETNA_CHECK(first.mask());
    return insert(first.grammar(), client);
}

/// Recompiles in the shared arena, where common parts exist already. Null if that is full.
std::shared_ptr<const Grammar>
GrammarCache::compile_shared(const std::shared_ptr<GrammarArena>& own,
                             const std::shared_ptr<const Description>& description,
                             const std::vector<DroppedKeyword>& dropped) {
    const std::shared_ptr<GrammarArena> shared = shared_arena(own);
    if (shared == own)
        return nullptr;
    const std::scoped_lock lock(shared->mutex);
    uint64_t steps_left = shared_steps_max;
    const auto root = shared->make(*description, steps_left);
    return root ? std::make_shared<const Grammar>(shared, *root, description, dropped) : nullptr;
}

/// Returns the shared arena; `own` replaces one that has reached its limit.
std::shared_ptr<GrammarArena> GrammarCache::shared_arena(const std::shared_ptr<GrammarArena>& own) {
    const std::scoped_lock lock(mutex_);
    if (shared_->is_full || shared_->bytes > arena_bytes_max)
        shared_ = own;
    shared_->is_shared = true;
    return shared_;
}

/// Caches a grammar. Returns the one cached first if two were compiled from one description.
std::shared_ptr<const Grammar> GrammarCache::insert(std::shared_ptr<const Grammar> made, uint64_t client) {
    const std::scoped_lock lock(mutex_);
    if (auto first = find_cached(made->description()); first && !first->arena().is_full)
        return first;
    const bool is_new = std::none_of(live_arenas_.begin(), live_arenas_.end(), [&](const LiveArena& one) {
        return one.arena.lock().get() == &made->arena();
    });
    if (is_new)
        live_arenas_.push_back({.arena = made->arena().weak_from_this(), .client = client});
    cached_.push_front(made);
    evict();
    return made;
}

/// Drops the oldest grammars beyond the limits, and all in full languages. Grammars that others hold
/// live until they are released.
void GrammarCache::evict() {
    std::unordered_set<const GrammarArena*> arenas;
    std::size_t bytes = 0;
    std::size_t count = 0;
    std::erase_if(cached_, [&](const auto& grammar) {
        if (grammar->arena().is_full)
            return true;
        if (arenas.insert(&grammar->arena()).second)
            bytes += grammar->arena().bytes;
        ++count;
        return count > cached_max || (count > 1 && bytes > cached_bytes_max);
    });
}

} // namespace etna::grammar
