#include "core/grammar/grammars.hpp"

#include "core/grammar/shelf.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace etna::grammar {
namespace {

/// A grammar that took more to be made gets a language of its own: making it again beside others holds up who
/// walks those. It is some milliseconds; nearly all JSON Schemas of practice take less.
constexpr uint64_t shared_steps_max = 500'000;
/// A language that has grown so large takes no more grammars.
constexpr std::size_t shelf_bytes_max = std::size_t{64} << 20;

} // namespace

Result<std::shared_ptr<const Grammar>> Grammar::elsewhere() const {
    const std::scoped_lock lock(mutex_);
    if (auto known = elsewhere_.lock())
        return known;
    auto own = std::make_shared<Shelf>(shelf_->vocabulary);
    uint64_t steps_left = steps_of_making;
    ETNA_TRY(const Expression root, own->make(*description_, steps_left));
    auto made = std::make_shared<const Grammar>(std::move(own), root, description_);
    elsewhere_ = made;
    return made;
}

Grammars::Grammars(Vocabulary vocabulary)
    : vocabulary_(std::make_shared<const Vocabulary>(std::move(vocabulary))),
      shared_(std::make_shared<Shelf>(vocabulary_)) {}

Grammars::~Grammars() = default;

std::shared_ptr<const Grammar> Grammars::find(const Description& description) {
    const std::scoped_lock lock(mutex_);
    drop_old(); // they may have grown
    return kept(description);
}

std::shared_ptr<const Grammar> Grammars::kept(const Description& description) {
    const auto known = std::find_if(kept_.begin(), kept_.end(),
                                    [&](const auto& one) { return one->description() == description; });
    if (known == kept_.end())
        return nullptr;
    kept_.splice(kept_.begin(), kept_, known);
    return kept_.front();
}

Result<std::shared_ptr<const Grammar>> Grammars::make(const Description& description) {
    if (auto known = find(description))
        return known;
    const Turns::Turn turn(turns_);
    if (auto known = find(description)) // another has made it
        return known;
    auto own = std::make_shared<Shelf>(vocabulary_);
    uint64_t steps_left = steps_of_making;
    ETNA_TRY(const Expression root, own->make(description, steps_left));
    const auto its_description = std::make_shared<const Description>(description);
    auto made = std::make_shared<const Grammar>(own, root, its_description);
    if (steps_of_making - steps_left <= shared_steps_max) {
        if (auto shared = beside_others(own, its_description))
            made = std::move(shared);
    }
    return keep(std::move(made));
}

/// Made again with others: then what they have in common is there already. Null where there is no room.
std::shared_ptr<const Grammar>
Grammars::beside_others(const std::shared_ptr<Shelf>& own,
                        const std::shared_ptr<const Description>& description) {
    const std::shared_ptr<Shelf> shared = shelf_for(own);
    if (shared == own)
        return nullptr;
    const std::scoped_lock lock(shared->mutex);
    uint64_t steps_left = shared_steps_max;
    const auto root = shared->make(*description, steps_left);
    return root ? std::make_shared<const Grammar>(shared, *root, description) : nullptr;
}

/// The shared shelf; `own` takes the place of one that takes no more.
std::shared_ptr<Shelf> Grammars::shelf_for(const std::shared_ptr<Shelf>& own) {
    const std::scoped_lock lock(mutex_);
    if (shared_->is_full || shared_->bytes > shelf_bytes_max)
        shared_ = own;
    return shared_;
}

/// The one that was kept first, where two were made of one description.
std::shared_ptr<const Grammar> Grammars::keep(std::shared_ptr<const Grammar> made) {
    const std::scoped_lock lock(mutex_);
    if (auto first = kept(made->description()); first && !first->shelf().is_full)
        return first;
    kept_.push_front(made);
    drop_old();
    return made;
}

/// Also those that cannot be followed any further. Grammars that others hold stay until those are done.
void Grammars::drop_old() {
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
