#include "core/grammar/grammars.hpp"

#include "core/grammar/gbnf.hpp"
#include "core/grammar/regex.hpp"
#include "core/grammar/schema/json_schema.hpp"
#include "core/grammar/until.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace etna::grammar {
namespace {

/// A grammar of more expressions than that gets a language of its own: making it again beside others would
/// hold up who walks those.
constexpr std::size_t shared_expressions_max = 20'000;
/// A language that has grown so large takes no more grammars.
constexpr std::size_t shelf_bytes_max = std::size_t{64} << 20;
/// White space between reasoning and what comes after it.
constexpr uint32_t space_after_reasoning_max = 8;

Expression any_of(Language& language, const std::vector<std::string>& texts) {
    std::vector<Expression> all;
    all.reserve(texts.size());
    for (const std::string& text : texts)
        all.push_back(language.literal(text));
    return language.either(all);
}

Result<Expression> text_of(Language& language, const Description& description) {
    switch (description.notation) {
    case Notation::json_schema:
        return json_schema(language, description.text,
                           {.spacing = description.is_compact ? JsonSpacing::none : JsonSpacing::bounded,
                            .is_lenient = description.is_lenient});
    case Notation::gbnf:
        return gbnf(language, description.text);
    case Notation::regex: {
        const Alphabet alphabet = [&](const CodePoints& set) { return utf8(language, set); };
        ETNA_TRY(const Expression texts, regex(language, description.text, alphabet, Place::whole));
        return language.seal(texts);
    }
    case Notation::choices:
        return language.seal(any_of(language, description.choices));
    }
    return Error{ErrorKind::internal, "an unknown notation"};
}

/// The mark as a text or as a control token, behind anything without it.
Expression reasoning_until(Language& language, std::string_view mark, const Vocabulary& vocabulary) {
    const Expression as_text = until(language, mark);
    const auto token = vocabulary.control_token(mark);
    if (!token)
        return as_text;
    return language.either(
        as_text, language.sequence(without(language, mark), language.literal(control_text(*token))));
}

Expression mark_of(Language& language, std::string_view mark, const Vocabulary& vocabulary) {
    const auto token = vocabulary.control_token(mark);
    const Expression as_text = language.literal(mark);
    return token ? language.either(as_text, language.literal(control_text(*token))) : as_text;
}

/// What the grammar describes, behind reasoning if there is any.
Expression behind_reasoning(Language& language, const Reasoning& reasoning, Expression text,
                            const Vocabulary& vocabulary) {
    ByteSet blanks;
    for (const char blank : {' ', '\n', '\r', '\t'})
        blanks.add(static_cast<uint8_t>(blank));
    const Expression space = language.repeat(language.bytes(blanks), 0, space_after_reasoning_max);
    const Expression thoughts =
        language.sequence(std::array{reasoning_until(language, reasoning.close, vocabulary), space, text});
    if (reasoning.is_open)
        return thoughts;
    return language.either(
        text, language.sequence(std::array{space, mark_of(language, reasoning.open, vocabulary), thoughts}));
}

} // namespace

/// A language that grammars share, and its masks.
struct Grammars::Shelf {
    explicit Shelf(std::shared_ptr<const Vocabulary> its_vocabulary)
        : vocabulary(std::move(its_vocabulary)), masks(language, *vocabulary) {}

    Result<Expression> make(const Description& description) {
        ETNA_TRY(Expression text, text_of(language, description));
        if (description.reasoning)
            text = behind_reasoning(language, *description.reasoning, text, *vocabulary);
        if (description.may_begin_with_blank)
            text = language.either(text, language.sequence(language.literal(" "), text));
        return language.seal(text);
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

std::string control_text(TokenId token) {
    std::string text(1, static_cast<char>(control_byte));
    for (const int shift : {16, 8, 0})
        text += static_cast<char>((token >> shift) & 0xFF);
    return text;
}

} // namespace etna::grammar
