#include "core/grammar/schema/document.hpp"

#include "core/grammar/schema/subschemas.hpp"
#include "core/grammar/schema/uri.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace etna::grammar {
namespace {

/// The base URI of a document without one.
constexpr std::string_view default_base = "schema:/";

template <std::size_t count>
bool contains(const std::array<std::string_view, count>& words, std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

Dialect dialect_named(std::string_view uri) {
    constexpr std::array<std::string_view, 3> old = {"draft-04", "draft-06", "draft-07"};
    const bool is_old = std::any_of(old.begin(), old.end(), [&](std::string_view name) {
        return uri.find(name) != std::string_view::npos;
    });
    return is_old ? Dialect::draft_07 : Dialect::current;
}

std::string unescaped_pointer_part(std::string_view part) {
    std::string result;
    for (std::size_t at = 0; at < part.size(); ++at) {
        const bool is_escape =
            part[at] == '~' && at + 1 < part.size() && (part[at + 1] == '0' || part[at + 1] == '1');
        if (is_escape)
            ++at;
        result += is_escape ? (part[at] == '0' ? '~' : '/') : part[at];
    }
    return result;
}

std::string escaped_pointer_part(std::string_view part) {
    std::string result;
    for (const char c : part) {
        if (c == '~' || c == '/')
            result += c == '~' ? "~0" : "~1";
        else
            result += c;
    }
    return result;
}

} // namespace

SchemaDocument::SchemaDocument(JsonValue root) : root_(std::move(root)) {
    resources_.push_back({.root = &root_, .uri = std::string(default_base), .dialect = Dialect::current});
    by_uri_.emplace(default_base, &root_);
    index(root_, {.value = &root_, .parent = 0, .name = {}, .index = 0, .resource = 0}, true);
}

/// Nesting is bounded by json_nesting_max.
void SchemaDocument::index(const JsonValue& value, const Location& location, bool is_schema) {
    locations_.push_back(location);
    if (value.is_object()) {
        if (is_schema)
            locations_[value.id].resource = resource_of(value, location.resource);
        index_members(value, locations_[value.id].resource, is_schema);
    }
    const std::size_t resource = locations_[value.id].resource;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
        index(value.items[i],
              {.value = &value.items[i], .parent = value.id, .name = {}, .index = i, .resource = resource},
              is_schema);
    }
}

void SchemaDocument::index_members(const JsonValue& value, std::size_t resource, bool is_schema) {
    for (const JsonMember& member : value.members) {
        const Location below = {.value = &member.value,
                                .parent = value.id,
                                .name = member.name,
                                .index = 0,
                                .resource = resource};
        if (is_schema && contains(map_keywords, member.name) && member.value.is_object()) {
            locations_.push_back(below);
            for (const JsonMember& named : member.value.members) {
                index(named.value,
                      {.value = &named.value,
                       .parent = member.value.id,
                       .name = named.name,
                       .index = 0,
                       .resource = resource},
                      true);
            }
        } else {
            index(member.value, below, is_schema && contains(schema_keywords, member.name));
        }
    }
}

/// Returns the resource of a schema, given by its own `$id` or that of an enclosing schema; records its
/// names.
std::size_t SchemaDocument::resource_of(const JsonValue& schema, std::size_t outer) {
    std::size_t result = outer;
    Dialect dialect = resources_[outer].dialect;
    if (const JsonValue* named = schema.find("$schema"); named != nullptr && named->is_string())
        dialect = dialect_named(named->text);
    if (schema.id == root_.id)
        resources_[0].dialect = dialect;
    const bool is_replaced = dialect == Dialect::draft_07 && schema.find("$ref") != nullptr;
    const JsonValue* const id = is_replaced ? nullptr : schema.find("$id");
    if (id != nullptr && id->is_string()) {
        const SplitUri parts = split_fragment(id->text);
        const std::string uri = resolved_uri(resources_[outer].uri, parts.document);
        if (!parts.document.empty()) {
            result = resources_.size();
            resources_.push_back({.root = &schema, .uri = uri, .dialect = dialect});
            by_uri_.emplace(uri, &schema);
        }
        if (!parts.fragment.empty()) // an anchor in draft-07
            by_uri_.emplace(uri + "#" + std::string(parts.fragment), &schema);
    }
    for (const std::string_view keyword : {"$anchor", "$dynamicAnchor"}) {
        const JsonValue* const anchor = schema.find(keyword);
        if (anchor != nullptr && anchor->is_string())
            by_uri_.emplace(resources_[result].uri + "#" + anchor->text, &schema);
    }
    return result;
}

Dialect SchemaDocument::dialect(const JsonValue& schema) const {
    return resources_[locations_[schema.id].resource].dialect;
}

const JsonValue* SchemaDocument::at_pointer(const JsonValue& from, std::string_view pointer) const {
    const JsonValue* at = &from;
    while (!pointer.empty() && at != nullptr) {
        pointer.remove_prefix(1); // the slash
        const std::size_t end = std::min(pointer.find('/'), pointer.size());
        const std::string part = unescaped_pointer_part(pointer.substr(0, end));
        pointer.remove_prefix(end);
        if (at->kind == JsonValue::Kind::array) {
            const bool is_index =
                !part.empty() && part.size() < 9 && part.find_first_not_of("0123456789") == std::string::npos;
            const std::size_t index = is_index ? std::stoul(part) : at->items.size();
            at = index < at->items.size() ? &at->items[index] : nullptr;
        } else {
            at = at->find(part);
        }
    }
    return at;
}

Result<const JsonValue*> SchemaDocument::resolve(const JsonValue& schema, std::string_view reference) const {
    const Resource& resource = resources_[locations_[schema.id].resource];
    const std::string uri = resolved_uri(resource.uri, reference);
    const SplitUri parts = split_fragment(uri);
    const std::string fragment = percent_decoded(parts.fragment);
    const auto document = by_uri_.find(parts.document);
    if (document == by_uri_.end()) {
        return error(ErrorKind::unsupported, schema, "$ref",
                     fmt::format("`{}` refers to a document that is not in the schema", reference),
                     "copy it into `$defs`: nothing is fetched");
    }
    const JsonValue* target = nullptr;
    if (fragment.empty()) {
        target = document->second;
    } else if (fragment.front() == '/') {
        target = at_pointer(*document->second, fragment);
    } else if (const auto anchor = by_uri_.find(fmt::format("{}#{}", parts.document, fragment));
               anchor != by_uri_.end()) {
        target = anchor->second;
    }
    if (target == nullptr) {
        return error(ErrorKind::invalid_argument, schema, "$ref",
                     fmt::format("`{}` refers to a target that is not in the schema", reference),
                     "look for a mistake in the name");
    }
    return target;
}

std::string SchemaDocument::pointer(const JsonValue& value) const {
    std::string result;
    for (const Location* location = &locations_[value.id]; location->value != &root_;
         location = &locations_[location->parent]) {
        const bool is_item = locations_[location->parent].value->kind == JsonValue::Kind::array;
        result = fmt::format("/{}{}",
                             is_item ? std::to_string(location->index) : escaped_pointer_part(location->name),
                             result);
    }
    return fmt::format("#{}", result);
}

std::string SchemaDocument::pointer(const JsonValue& schema, std::string_view keyword) const {
    return fmt::format("{}/{}", pointer(schema), escaped_pointer_part(keyword));
}

Error SchemaDocument::error(ErrorKind kind, const JsonValue& schema, std::string_view keyword,
                            std::string_view what, std::string_view hint) const {
    return {kind, fmt::format("{}: {}", pointer(schema, keyword), what), std::string(hint)};
}

void DroppedKeywords::add(const JsonValue& schema, std::string_view keyword) {
    const std::pair<const JsonValue*, std::string_view> added = {&schema, keyword};
    const bool is_known = std::find(keywords_.begin(), keywords_.end(), added) != keywords_.end();
    if (!is_known && keywords_.size() < remembered_max)
        keywords_.push_back(added);
}

std::vector<std::string> DroppedKeywords::pointers() const {
    auto in_order = keywords_;
    std::sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
        return std::pair(a.first->id, a.second) < std::pair(b.first->id, b.second);
    });
    std::vector<std::string> all;
    for (const auto& [schema, keyword] : in_order)
        all.push_back(document_->pointer(*schema, keyword).substr(0, pointer_bytes_max));
    return all;
}

} // namespace etna::grammar
