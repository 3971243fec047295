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
    regex,       ///< matches the complete text; see regex()
    choices,     ///< one of several texts: `choices`
    literal,     ///< `text`; a control token's name in it may also be written as the token
    free_text,   ///< any text that does not contain any of `choices`
    space,       ///< white space between the tokens of a JSON text: `spacing`
    sequence,    ///< `parts`, in order
    either,      ///< one of `parts`
    repeated,    ///< the only part, `min` to `max` times
};

/// A mark that a free text may contain although it is excluded, as itself or as a control token.
struct Mention {
    std::string mark;
    /// A regex that must not match the start of the text after the mark and white space. Empty: none.
    std::string not_before = {};
    bool operator==(const Mention&) const = default;
};

/// A marked-up text that may precede the text that a grammar describes.
struct Reasoning {
    std::string open;
    std::string close;
    bool is_open = false;                  ///< the text is already open and must be closed
    std::vector<std::string> without = {}; ///< marks that it must not contain
    std::vector<Mention> mentions = {};
    bool operator==(const Reasoning&) const = default;
};

/// The source of a grammar, in one of the notations. Descriptions can be nested.
struct Description {
    Notation notation = Notation::json_schema;
    std::string text = {};
    std::vector<std::string> choices = {};
    std::string not_begun = {}; ///< of free text: a regex that must not match its start after white space
    std::vector<Mention> mentions = {}; ///< of free text
    bool is_lenient = false;            ///< of a JSON Schema: keywords that cannot be enforced are dropped
    JsonSpacing spacing = JsonSpacing::single; ///< of a JSON Schema, and of space
    Root root = Root::any;                     ///< of a JSON Schema
    Writing writing = {};                      ///< of a JSON Schema
    std::vector<Description> parts = {};
    uint32_t min = 0;
    uint32_t max = unbounded;
    std::string place = {}; ///< path, for errors: `response_format.json_schema.schema`; may be empty
    std::optional<Reasoning> reasoning = {};
    std::vector<Description> ends_reasoning = {}; ///< may follow reasoning that was not closed
    bool may_begin_with_blank = false;            ///< an invisible one: SentencePiece's leading space
    bool operator==(const Description&) const = default;
};

/// A keyword of a JSON Schema that a lenient description drops because it cannot be enforced.
struct DroppedKeyword {
    std::string place;   ///< Description::place of the schema
    std::string pointer; ///< within the schema: `#/properties/a/format`
    bool operator==(const DroppedKeyword&) const = default;
};

/// The texts that `description` describes; control tokens are those of `vocabulary`. Sealed. Takes half a
/// second at most. Errors: those of the notations, with Description::place; unsupported (it would take
/// longer).
Result<Expression> texts_of(Language& language, const Description& description, const Vocabulary& vocabulary);

/// The same within `steps_left`, which receives the remaining budget, and until `stop`; see
/// Language::set_step_budget(). `dropped` receives the dropped keywords; may be null. Errors: cancelled
/// (stopped) too.
Result<Expression> texts_of(Language& language, const Description& description, const Vocabulary& vocabulary,
                            uint64_t& steps_left, const Language::Stop* stop = nullptr,
                            std::vector<DroppedKeyword>* dropped = nullptr);

/// Step budget of one description: about half a second.
constexpr uint64_t steps_of_compilation = 60'000'000;

} // namespace etna::grammar
