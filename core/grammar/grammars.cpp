#include "core/grammar/grammars.hpp"

#include "core/base/utf8.hpp"
#include "core/grammar/until.hpp"

#include <algorithm>
#include <utility>

namespace etna::grammar {
namespace {

/// A grammar of more expressions than that gets a language of its own: making it again beside others would
/// hold up who walks those.
constexpr std::size_t shared_expressions_max = 20'000;
/// A language that has grown so large takes no more grammars.
constexpr std::size_t shelf_bytes_max = std::size_t{64} << 20;

/// The one byte that may come; empty where there are several, or none.
std::optional<uint8_t> only_byte(Language& language, Expression at) {
    std::optional<uint8_t> only;
    for (uint32_t byte = 0; byte < 256; ++byte) {
        if (language.next(at, static_cast<uint8_t>(byte)) == nothing)
            continue;
        if (only)
            return std::nullopt;
        only = static_cast<uint8_t>(byte);
    }
    return only;
}

} // namespace

/// A language that grammars share, and its masks.
struct Grammars::Shelf {
    explicit Shelf(std::shared_ptr<const Vocabulary> its_vocabulary)
        : vocabulary(std::move(its_vocabulary)), masks(language, *vocabulary) {}

    Result<Expression> make(const Description& description) {
        return texts_of(language, description, *vocabulary);
    }

    std::shared_ptr<const Vocabulary> vocabulary;
    std::mutex mutex; ///< of all below
    Language language;
    Masks masks;
};

class Grammar {
public:
    Grammar(std::shared_ptr<Grammars::Shelf> shelf, Expression root)
        : shelf_(std::move(shelf)), root_(root) {}

    [[nodiscard]] Grammars::Shelf& shelf() const { return *shelf_; }
    [[nodiscard]] Expression root() const { return root_; }

private:
    std::shared_ptr<Grammars::Shelf> shelf_;
    Expression root_;
};

Walk::Walk(std::shared_ptr<const Grammar> grammar) : grammar_(std::move(grammar)), state_(grammar_->root()) {}

Result<const TokenMask*> Walk::mask() {
    if (mask_)
        return &*mask_;
    Grammars::Shelf& shelf = grammar_->shelf();
    const std::scoped_lock lock(shelf.mutex);
    TokenMask made = shelf.masks.mask(state_);
    if (shelf.language.is_full())
        return Error{ErrorKind::unsupported, "the grammar has grown too large to be followed",
                     "make it smaller"};
    mask_ = std::move(made);
    return &*mask_;
}

bool Walk::may_end() {
    Grammars::Shelf& shelf = grammar_->shelf();
    const std::scoped_lock lock(shelf.mutex);
    return shelf.language.is_nullable(state_);
}

Result<bool> Walk::is_over() {
    if (!may_end())
        return false;
    ETNA_TRY(const TokenMask* const all, mask());
    return all->is_empty();
}

std::string Walk::forced(std::size_t bytes_max) {
    Grammars::Shelf& shelf = grammar_->shelf();
    const std::scoped_lock lock(shelf.mutex);
    std::string text;
    for (Expression at = state_; text.size() < bytes_max && !shelf.language.is_nullable(at);) {
        const auto only = only_byte(shelf.language, at);
        if (!only || *only == control_byte || shelf.language.is_full())
            break;
        text.push_back(static_cast<char>(*only));
        at = shelf.language.next(at, *only);
    }
    text.resize(valid_utf8_prefix(text));
    return text;
}

void Walk::accept(TokenId token) {
    mask_.reset();
    Grammars::Shelf& shelf = grammar_->shelf();
    const std::scoped_lock lock(shelf.mutex);
    state_ = shelf.language.next(state_, shelf.vocabulary->bytes(token));
}

Grammars::Grammars(Vocabulary vocabulary)
    : vocabulary_(std::make_shared<const Vocabulary>(std::move(vocabulary))),
      shared_(std::make_shared<Shelf>(vocabulary_)) {}

Grammars::~Grammars() = default;

Result<std::shared_ptr<const Grammar>> Grammars::make(const Description& description) {
    {
        const std::scoped_lock lock(mutex_);
        const auto known = std::find_if(kept_.begin(), kept_.end(),
                                        [&](const Kept& one) { return one.description == description; });
        if (known != kept_.end()) {
            kept_.splice(kept_.begin(), kept_, known);
            return kept_.front().grammar;
        }
    }
    auto own = std::make_shared<Shelf>(vocabulary_);
    ETNA_TRY(const Expression root, own->make(description));
    const bool is_small = own->language.size() <= shared_expressions_max;
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<const Grammar> made = std::make_shared<Grammar>(own, root);
    if (is_small) { // again, beside others: then what they have in common is there already
        const std::scoped_lock shelf_lock(shared_->mutex);
        if (shared_->language.bytes() <= shelf_bytes_max) {
            if (const auto shared_root = shared_->make(description))
                made = std::make_shared<Grammar>(shared_, *shared_root);
        } else {
            shared_ = own;
        }
    }
    kept_.push_front({description, made});
    if (kept_.size() > kept_max)
        kept_.pop_back();
    return made;
}

} // namespace etna::grammar
