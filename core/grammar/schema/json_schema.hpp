#pragma once

#include "core/grammar/language.hpp"
#include "core/grammar/schema/json_text.hpp"
#include "core/grammar/schema/writing.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace etna::grammar {

/// The keyword whose value is a grammar in Lark's notation (see lark()): a string must be one of its texts.
/// It cannot be negated or combined with another grammar, and few other keywords may constrain the same
/// string.
constexpr std::string_view lark_keyword = "x-etna-lark";

/// The kinds that the root of a schema may have.
enum class Root : uint8_t { any, object };

struct JsonSchemaOptions {
    JsonSpacing spacing = JsonSpacing::single;
    /// Keywords that cannot be enforced are dropped instead of being an error.
    bool is_lenient = false;
    Root root = Root::any;
    Writing writing = {};
    /// Encodes the marks of `writing`; empty: literally.
    std::function<Expression(std::string_view)> mark = {};
};

/// The JSON texts that a schema describes, in one notation: members in the schema's order and before unlisted
/// ones, characters literally if possible, numbers without an exponent if they are constrained at all.
/// Sealed.
///
/// JSON Schema draft 2020-12 and draft-07, except for features that depend on the path through the schema
/// (`$dynamicRef`, `unevaluated...` next to other schemas), on comparing lists or objects (`uniqueItems`), or
/// on other documents. Lists of distinct items (`uniqueItems`) have at most Language::distinct_max items.
/// Keywords next to `$ref` count in every draft. Also supports `nullable`, as in OpenAPI 3.0, and
/// lark_keyword. Unknown keywords are ignored.
///
/// Errors: invalid_argument (not JSON, not a schema, no text fits), unsupported (a keyword that cannot be
/// enforced, with its JSON pointer; too large). Not thread-safe, as Language.
///
/// `dropped` receives the dropped keywords, see DroppedKeywords::pointers(); may be null.
Result<Expression> json_schema(Language& language, std::string_view schema, const JsonSchemaOptions& options,
                               std::vector<std::string>* dropped = nullptr);

} // namespace etna::grammar
