#pragma once

#include "core/base/result.hpp"
#include "core/grammar/masks.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::grammar {

enum class Notation : uint8_t {
    json_schema, ///< see json_schema()
    gbnf,        ///< see gbnf()
    regex,       ///< of the whole text; see regex()
    choices,     ///< one of several texts: `choices`
};

/// A text between marks that may come before what a grammar describes.
struct Reasoning {
    std::string open;
    std::string close;
    bool is_open = false; ///< the text has begun already: it has to be closed
    bool operator==(const Reasoning&) const = default;
};

/// What a text shall be.
struct Description {
    Notation notation = Notation::json_schema;
    std::string text = {};
    std::vector<std::string> choices = {};
    bool is_lenient = false; ///< of a JSON Schema: keywords that cannot be enforced are left out
    bool is_compact = false; ///< of a JSON Schema: no white space
    std::optional<Reasoning> reasoning = {};
    bool may_begin_with_blank = false; ///< one that is not shown: SentencePiece's before a text
    bool operator==(const Description&) const = default;
};

/// A description that was made ready, to be walked by any number of texts at a time. Immutable for who holds
/// it; thread-safe.
class Grammar;

/// How far one text has come in a grammar, by tokens. Thread-safe towards others of the same grammar.
class Walk {
public:
    explicit Walk(std::shared_ptr<const Grammar> grammar);

    /// Which tokens may come next; kept until the next accept(). Errors: unsupported (the grammar has grown
    /// too large to be followed).
    Result<const TokenMask*> mask();
    /// Whether the text may end here.
    [[nodiscard]] bool may_end();
    /// Whether it has to. Errors: as mask().
    Result<bool> is_over();
    /// Goes on. A token that may not come leaves nothing that may.
    void accept(TokenId token);

private:
    std::shared_ptr<const Grammar> grammar_;
    Expression state_;
    std::optional<TokenMask> mask_;
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

    /// Makes a grammar, or finds it. Blocking: some milliseconds, a second at most. Errors: those of the
    /// notations, with the text's place.
    Result<std::shared_ptr<const Grammar>> make(const Description& description);

    static constexpr std::size_t kept_max = 256; ///< grammars

private:
    struct Shelf;
    friend class Grammar;
    friend class Walk;

    struct Kept {
        Description description;
        std::shared_ptr<const Grammar> grammar;
    };

    std::shared_ptr<const Vocabulary> vocabulary_;
    std::mutex mutex_;
    std::shared_ptr<Shelf> shared_; ///< where small grammars stand together
    std::list<Kept> kept_;          ///< the last one asked for first
};

/// What a control token stands for in a vocabulary.
std::string control_text(TokenId token);

} // namespace etna::grammar
