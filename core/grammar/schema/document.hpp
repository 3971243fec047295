#pragma once

#include "core/grammar/schema/json_value.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace etna::grammar {

/// The version of JSON Schema, which decides what its keywords mean.
enum class Dialect : uint8_t {
    draft_07, ///< and before
    current,  ///< 2019-09 and 2020-12
};

/// A JSON Schema document whose values can be referenced: by pointer, by `$id` and by `$anchor`. Nothing is
/// fetched. Immutable; not copyable or movable, because the addresses of values are used.
class SchemaDocument {
public:
    /// Sources: JSON Schema draft 2020-12 core, sections 8 and 9; draft-07 core, section 8.
    explicit SchemaDocument(JsonValue root);
    SchemaDocument(const SchemaDocument&) = delete;
    SchemaDocument& operator=(const SchemaDocument&) = delete;

    [[nodiscard]] const JsonValue& root() const { return root_; }
    [[nodiscard]] Dialect dialect(const JsonValue& schema) const;

    /// Returns the target of the reference in `schema`. Errors: invalid_argument (no such target),
    /// unsupported (another document).
    [[nodiscard]] Result<const JsonValue*> resolve(const JsonValue& schema, std::string_view reference) const;

    /// Returns the position of a value: a JSON pointer as a fragment, such as `#/properties/a`.
    [[nodiscard]] std::string pointer(const JsonValue& value) const;

    /// Returns the position of a keyword of a schema.
    [[nodiscard]] std::string pointer(const JsonValue& schema, std::string_view keyword) const;

    /// An error about one keyword of a schema, with its pointer.
    [[nodiscard]] Error error(ErrorKind kind, const JsonValue& schema, std::string_view keyword,
                              std::string_view what, std::string_view hint) const;

private:
    /// A schema with its own identifier, and all below it.
    struct Resource {
        const JsonValue* root;
        std::string uri;
        Dialect dialect;
    };
    struct Location {
        const JsonValue* value;
        uint32_t parent; ///< its index in locations_
        std::string_view name;
        std::size_t index;    ///< index in an array
        std::size_t resource; ///< into resources_
    };

    void index(const JsonValue& value, const Location& location, bool is_schema);
    void index_members(const JsonValue& value, std::size_t resource, bool is_schema);
    std::size_t resource_of(const JsonValue& schema, std::size_t outer);
    [[nodiscard]] const JsonValue* at_pointer(const JsonValue& from, std::string_view pointer) const;

    JsonValue root_;
    std::vector<Location> locations_; ///< by JsonValue::location
    std::vector<Resource> resources_;
    std::map<std::string, const JsonValue*, std::less<>> by_uri_; ///< without fragments, and with anchors
};

/// The keywords that a lenient compilation drops because it cannot enforce them, without duplicates. Borrows
/// the document. Not thread-safe.
class DroppedKeywords {
public:
    explicit DroppedKeywords(const SchemaDocument& document) : document_(&document) {}

    /// Records a keyword; `keyword` is borrowed. Beyond `remembered_max`, keywords are ignored.
    void add(const JsonValue& schema, std::string_view keyword);

    /// Returns their JSON pointers as fragments, such as `#/properties/a/format`, in document order,
    /// truncated to pointer_bytes_max.
    [[nodiscard]] std::vector<std::string> pointers() const;

    static constexpr std::size_t remembered_max = 16;
    static constexpr std::size_t pointer_bytes_max = 256;

private:
    const SchemaDocument* document_;
    std::vector<std::pair<const JsonValue*, std::string_view>> keywords_;
};

} // namespace etna::grammar
