#pragma once

#include "core/base/result.hpp"
#include "core/grammar/masks.hpp"
#include "core/grammar/schema/json_schema.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etna::grammar {

enum class Notation : uint8_t {
    json_schema, ///< see json_schema()
    gbnf,        ///< see gbnf(); or Lark's, see lark()
    regex,       ///< of the whole text; see regex()
    choices,     ///< one of several texts: `choices`
    literal,     ///< `text`; where a control token has a name in it, that may stand for the name
    free_text,   ///< any text without `choices` in it
    space,       ///< white space as between the tokens of a JSON text, or none
    sequence,    ///< `parts`, one after the other
    either,      ///< one of `parts`
    repeated,    ///< the one part, from `least` to `most` times
};

/// A text between marks that may come before what a grammar describes.
struct Reasoning {
    std::string open;
    std::string close;
    bool is_open = false;                  ///< the text has begun already: it has to be closed
    std::vector<std::string> without = {}; ///< marks that would end it
    bool operator==(const Reasoning&) const = default;
};

/// What a text shall be. Descriptions of parts make up larger ones.
struct Description {
    Notation notation = Notation::json_schema;
    std::string text = {};
    std::vector<std::string> choices = {};
    std::string not_begun =
        {};                  ///< of free text: an expression, what it does not begin with, behind white space
    bool is_lenient = false; ///< of a JSON Schema: keywords that cannot be enforced are dropped
    bool is_compact = false; ///< of a JSON Schema: no white space
    Root root = Root::any;   ///< of a JSON Schema
    Writing writing = {};    ///< of a JSON Schema
    std::vector<Description> parts = {};
    uint32_t least = 0;
    uint32_t most = unbounded;
    std::string place = {}; ///< in a request, for errors: `response_format.json_schema.schema`; may be empty
    std::optional<Reasoning> reasoning = {};
    std::vector<Description> ends_reasoning = {}; ///< what may come behind reasoning that nothing has closed
    bool may_begin_with_blank = false;            ///< one that is not shown: SentencePiece's before a text
    bool operator==(const Description&) const = default;
};

/// A keyword of a JSON Schema that a lenient description drops because it cannot be enforced.
struct DroppedKeyword {
    std::string place;   ///< Description::place of the schema
    std::string pointer; ///< within the schema: `#/properties/a/format`
    bool operator==(const DroppedKeyword&) const = default;
};

/// The texts that are described; control tokens are those of `vocabulary`. Sealed. Takes half a second at
/// most. Errors: those of the notations, with the text's place; unsupported (it would take longer).
Result<Expression> texts_of(Language& language, const Description& description, const Vocabulary& vocabulary);

/// The same within `steps_left`, which is then what is left of it, and until `stop`; see
/// Language::allow_steps(). `dropped` gets the keywords that were dropped; may be null. Errors: cancelled
/// (stopped) too.
Result<Expression> texts_of(Language& language, const Description& description, const Vocabulary& vocabulary,
                            uint64_t& steps_left, const Language::Stop* stop = nullptr,
                            std::vector<DroppedKeyword>* dropped = nullptr);

/// What making one description may take: about half a second.
constexpr uint64_t steps_of_making = 60'000'000;

} // namespace etna::grammar
