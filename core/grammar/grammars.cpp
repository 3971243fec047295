#include "core/grammar/grammars.hpp"

#include "core/grammar/shelf.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace etna::grammar {
namespace {

/// A grammar that takes more steps to compile gets a language of its own, because recompiling it on the
/// shared shelf blocks matchers there. This is some milliseconds; nearly all JSON Schemas in practice take
/// less. Such a grammar also waits for its turn; quicker ones never wait for it.
constexpr uint64_t shared_steps_max = 500'000;
/// Maximum size of a refused description that is remembered.
constexpr std::size_t refused_bytes_max = std::size_t{1} << 20;
/// Beyond this size a shared language takes no more grammars.
constexpr std::size_t shelf_bytes_max = std::size_t{64} << 20;

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

Error not_wanted() {
    return {ErrorKind::cancelled, "the grammar is not wanted any more"};
}

} // namespace

Result<std::shared_ptr<const Grammar>> Grammar::elsewhere(const Language::Stop* stop) const {
    constexpr std::chrono::milliseconds stop_poll{1};
    std::unique_lock lock(mutex_, std::defer_lock);
    while (!lock.try_lock_for(stop_poll)) { // another text is compiling it
        if (stop != nullptr && *stop && (*stop)())
            return not_wanted();
    }
    if (auto known = elsewhere_.lock())
        return known;
    auto own = std::make_shared<Shelf>(shelf_->vocabulary);
    uint64_t steps_left = steps_of_making;
    ETNA_TRY(const Expression root, own->make(*description_, steps_left, stop));
    auto made = std::make_shared<const Grammar>(std::move(own), root, description_, dropped_);
    elsewhere_ = made;
    return made;
}

const std::vector<DroppedKeyword>& dropped_keywords(const Grammar& grammar) {
    return grammar.dropped();
}

GrammarCache::GrammarCache(Vocabulary vocabulary)
    : vocabulary_(std::make_shared<const Vocabulary>(std::move(vocabulary))),
      shared_(std::make_shared<Shelf>(vocabulary_)) {}

GrammarCache::~GrammarCache() = default;

/// Returns the cached grammar; null if there is none. Errors: that of a recent refusal.
Result<std::shared_ptr<const Grammar>> GrammarCache::find(const Description& description) {
    const std::scoped_lock lock(mutex_);
    drop_old(); // cached grammars may have grown
    const auto now = std::chrono::steady_clock::now();
    std::erase_if(refused_, [&](const Refused& one) { return one.until < now; });
    const auto refused = std::find_if(refused_.begin(), refused_.end(),
                                      [&](const Refused& one) { return one.description == description; });
    if (refused != refused_.end())
        return refused->error;
    return kept(description);
}

void GrammarCache::refuse(const Description& description, const Error& error) {
    if (bytes_of(description) > refused_bytes_max)
        return;
    const std::scoped_lock lock(mutex_);
    refused_.push_front({description, error, std::chrono::steady_clock::now() + refused_for});
    if (refused_.size() > refused_max)
        refused_.pop_back();
}

std::shared_ptr<const Grammar> GrammarCache::kept(const Description& description) {
    const auto known = std::find_if(kept_.begin(), kept_.end(),
                                    [&](const auto& one) { return one->description() == description; });
    if (known == kept_.end())
        return nullptr;
    kept_.splice(kept_.begin(), kept_, known);
    return kept_.front();
}

Result<std::shared_ptr<const Grammar>> GrammarCache::make(const Description& description,
                                                          const Language::Stop& stop, uint64_t client) {
    ETNA_TRY(auto made, find(description));
    if (made == nullptr) {
        ETNA_TRY(made, make_quickly(description, stop, client));
    }
    if (made != nullptr)
        return made;
    const Turns::Turn turn(turns_, client, stop);
    if (!turn.is_given())
        return not_wanted();
    ETNA_TRY(made, find(description));
    if (made != nullptr) // another thread has compiled it
        return made;
    auto own = make_slowly(description, stop, client);
    if (!own && own.error().kind == ErrorKind::unsupported)
        refuse(description, own.error());
    return own;
}

/// Drops cached grammars before refusing a new one. Errors: out_of_memory.
Status GrammarCache::check_room(uint64_t client) {
    std::list<std::shared_ptr<const Grammar>> leaving; // destroyed without the mutex: that may be slow
    {
        const std::scoped_lock lock(mutex_);
        if (has_room(client))
            return {};
        leaving.swap(kept_);
    }
    leaving.clear();
    const std::scoped_lock lock(mutex_);
    if (has_room(client))
        return {};
    return Error{ErrorKind::out_of_memory,
                 "the grammars of requests that have not ended take too much memory",
                 "ask again when some of them have, or make the grammar smaller"};
}

bool GrammarCache::has_room(uint64_t client) {
    std::size_t bytes = 0;
    std::size_t own_bytes = 0;
    std::erase_if(made_, [&](const Made& one) {
        const auto shelf = one.shelf.lock();
        if (shelf == nullptr)
            return true;
        bytes += shelf->bytes;
        own_bytes += one.client == client ? shelf->bytes.load() : 0;
        return false;
    });
    return bytes <= bytes_max && own_bytes <= client_bytes_max;
}

/// Compiles on the shared shelf, if that takes few steps. Null: it takes more.
Result<std::shared_ptr<const Grammar>>
GrammarCache::make_quickly(const Description& description, const Language::Stop& stop, uint64_t client) {
    const Turns::Turn turn(quick_turns_, client, stop);
    if (!turn.is_given())
        return not_wanted();
    ETNA_CHECK(check_room(client));
    auto own = std::make_shared<Shelf>(vocabulary_);
    uint64_t steps_left = shared_steps_max;
    std::vector<DroppedKeyword> dropped;
    const auto root = own->make(description, steps_left, &stop, &dropped);
    if (!root && steps_left == 0)
        return std::shared_ptr<const Grammar>();
    if (!root)
        return root.error();
    const auto its_description = std::make_shared<const Description>(description);
    auto made = beside_others(own, its_description, dropped);
    if (made == nullptr)
        made = std::make_shared<const Grammar>(own, *root, its_description, std::move(dropped));
    GrammarMatcher first(made);
    if (!first.prepare({.mask = true}, {.stop = &stop, .may_move = false})) {
        if (stop && stop())
            return not_wanted();
        return std::shared_ptr<const Grammar>();
    }
    ETNA_CHECK(first.mask());
    return keep(std::move(made), client);
}

Result<std::shared_ptr<const Grammar>>
GrammarCache::make_slowly(const Description& description, const Language::Stop& stop, uint64_t client) {
    ETNA_CHECK(check_room(client));
    auto own = std::make_shared<Shelf>(vocabulary_);
    uint64_t steps_left = steps_of_making;
    std::vector<DroppedKeyword> dropped;
    ETNA_TRY(const Expression root, own->make(description, steps_left, &stop, &dropped));
    auto made = std::make_shared<const Grammar>(own, root, std::make_shared<const Description>(description),
                                                std::move(dropped));
    GrammarMatcher first(made);
    if (!first.prepare({.mask = true}, {.stop = &stop}))
        return not_wanted();
    ETNA_CHECK(first.mask());
    return keep(first.grammar(), client);
}

/// Recompiles on the shared shelf, where common parts exist already. Null if there is no room.
std::shared_ptr<const Grammar>
GrammarCache::beside_others(const std::shared_ptr<Shelf>& own,
                            const std::shared_ptr<const Description>& description,
                            const std::vector<DroppedKeyword>& dropped) {
    const std::shared_ptr<Shelf> shared = shelf_for(own);
    if (shared == own)
        return nullptr;
    const std::scoped_lock lock(shared->mutex);
    uint64_t steps_left = shared_steps_max;
    const auto root = shared->make(*description, steps_left);
    return root ? std::make_shared<const Grammar>(shared, *root, description, dropped) : nullptr;
}

/// Returns the shared shelf; `own` replaces one that takes no more grammars.
std::shared_ptr<Shelf> GrammarCache::shelf_for(const std::shared_ptr<Shelf>& own) {
    const std::scoped_lock lock(mutex_);
    if (shared_->is_full || shared_->bytes > shelf_bytes_max)
        shared_ = own;
    shared_->is_shared = true;
    return shared_;
}

/// Caches a grammar. Returns the one cached first if two were compiled from one description.
std::shared_ptr<const Grammar> GrammarCache::keep(std::shared_ptr<const Grammar> made, uint64_t client) {
    const std::scoped_lock lock(mutex_);
    if (auto first = kept(made->description()); first && !first->shelf().is_full)
        return first;
    const bool is_new = std::none_of(made_.begin(), made_.end(), [&](const Made& one) {
        return one.shelf.lock().get() == &made->shelf();
    });
    if (is_new)
        made_.push_back({.shelf = made->shelf().weak_from_this(), .client = client});
    kept_.push_front(made);
    drop_old();
    return made;
}

/// Drops the oldest grammars beyond the limits, and all in full languages. Grammars that are held elsewhere
/// live until they are released.
void GrammarCache::drop_old() {
    std::unordered_set<const Shelf*> shelves;
    std::size_t bytes = 0;
    std::size_t count = 0;
    std::erase_if(kept_, [&](const auto& grammar) {
        if (grammar->shelf().is_full)
            return true;
        if (shelves.insert(&grammar->shelf()).second)
            bytes += grammar->shelf().bytes;
        ++count;
        return count > kept_max || (count > 1 && bytes > kept_bytes_max);
    });
}

} // namespace etna::grammar
