#include "core/grammar/grammars.hpp"

#include "core/grammar/shelf.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace etna::grammar {
namespace {

/// A grammar of more expressions than that gets a language of its own: making it again beside others would
/// hold up who walks those.
constexpr std::size_t shared_expressions_max = 20'000;
/// A language that has grown so large takes no more grammars.
constexpr std::size_t shelf_bytes_max = std::size_t{64} << 20;

} // namespace

Result<std::shared_ptr<const Grammar>> Grammar::elsewhere() const {
    const std::scoped_lock lock(mutex_);
    if (auto known = elsewhere_.lock())
        return known;
    auto own = std::make_shared<Shelf>(shelf_->vocabulary);
    ETNA_TRY(const Expression root, own->make(*description_));
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
    auto own = std::make_shared<Shelf>(vocabulary_);
    ETNA_TRY(const Expression root, own->make(description));
    const bool is_small = own->language.size() <= shared_expressions_max;
    const auto its_description = std::make_shared<const Description>(description);
    const std::scoped_lock lock(mutex_);
    auto made = std::make_shared<const Grammar>(own, root, its_description);
    if (is_small) { // again, beside others: then what they have in common is there already
        const std::scoped_lock shelf_lock(shared_->mutex);
        if (shared_->language.bytes() <= shelf_bytes_max) {
            if (const auto shared_root = shared_->make(description))
                made = std::make_shared<const Grammar>(shared_, *shared_root, its_description);
        } else {
            shared_ = own;
        }
    }
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
