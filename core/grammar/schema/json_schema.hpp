#pragma once

#include "core/grammar/json_text.hpp"
#include "core/grammar/language.hpp"
#include "core/grammar/schema/writing.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::grammar {

/// The keyword whose value is a grammar in Lark's notation (see lark()): a string has to be one of its texts.
/// It cannot be negated, nor stand beside another one, and other keywords may say little of the same string.
constexpr std::string_view lark_keyword = "x-etna-lark";

/// What the root of a schema may be.
enum class Root : uint8_t { any, object };

struct JsonSchemaOptions {
    JsonSpacing spacing = JsonSpacing::bounded;
    /// Keywords that cannot be enforced are dropped instead of being an error.
    bool is_lenient = false;
    Root root = Root::any;
    Writing writing = {};
    /// How the marks of `writing` are written; empty: as they are.
    std::function<Expression(std::string_view)> mark = {};
};

/// The JSON texts that a schema describes, written in one way: members in the schema's order and before those
/// it does not name, characters as themselves where they can be, numbers without an exponent where anything
/// is said of them. Sealed.
///
/// JSON Schema draft 2020-12 and draft-07, but for what depends on the way through the schema (`$dynamicRef`,
/// `unevaluated...` beside other schemas), on comparing lists or objects (`uniqueItems`), or on other
/// documents. Lists of different items (`uniqueItems`) have Language::distinct_max of them at most. Keywords
/// beside `$ref` count in every draft. Also `nullable`, as OpenAPI 3.0 has it, and lark_keyword. Words that
/// JSON Schema does not know say nothing.
///
/// Errors: invalid_argument (no JSON, no schema, no text fits), unsupported (a keyword that cannot be
/// enforced, by its JSON pointer; too large). Not thread-safe, as Language.
///
/// `dropped` gets what was dropped, see DroppedKeywords::pointers(); may be null.
Result<Expression> json_schema(Language& language, std::string_view schema, const JsonSchemaOptions& options,
                               std::vector<std::string>* dropped = nullptr);

} // namespace etna::grammar
