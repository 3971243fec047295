#include "server/exact_numbers.hpp"

#include "core/grammar/schema/subschemas.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::server {
namespace {

/// JSON Schema keywords whose numbers constrain answers.
constexpr std::array<std::string_view, 7> exact_keywords = {
    "const", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"};

constexpr std::array<std::string_view, 3> references = {"$ref", "$dynamicRef", "$recursiveRef"};

/// Request fields that contain schemas at any depth, and one only at the root.
constexpr std::array<std::string_view, 4> schema_members = {"parameters", "schema", "json", "guided_json"};
constexpr std::string_view root_schema_member = "json_schema";
constexpr std::size_t root_depth = 1;

constexpr std::size_t digits_shown = 40;

template <class Names>
bool is_among(const Names& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

/// Decimal digits that uniquely identify a double.
constexpr std::size_t double_digits = 17;

/// Whether a double preserves all significant digits of the number.
bool is_kept(std::string_view text) {
    std::size_t digits = 0;
    std::size_t zeros = 0; // trailing zeros after the last significant digit
    for (const char letter : text.substr(0, text.find_first_of("eE"))) {
        if (letter < '0' || letter > '9' || (letter == '0' && digits == 0))
            continue;
        zeros = letter == '0' ? zeros + 1 : 0;
        ++digits;
    }
    return digits - zeros <= double_digits;
}

/// Whether a reference may lead to a value that is not reached as a schema through keywords. Anchors never
/// do.
bool may_lead_outside(std::string_view reference) {
    const std::size_t hash = reference.find('#');
    std::string_view pointer = hash == std::string_view::npos ? "" : reference.substr(hash + 1);
    if (pointer.find('%') != std::string_view::npos)
        return true; // percent-encoded letters
    if (!pointer.starts_with('/'))
        return false;
    bool is_named = false; // the next step is a name, not a keyword
    while (!pointer.empty()) {
        pointer.remove_prefix(1); // the slash
        const std::string_view step = pointer.substr(0, pointer.find('/'));
        pointer.remove_prefix(step.size());
        const bool is_naming = !is_named && is_among(grammar::map_keywords, step);
        if (!is_named && !is_naming && !is_among(grammar::schema_keywords, step))
            return true; // or a list index, which is rare
        is_named = is_naming;
    }
    return false;
}

} // namespace

void ExactNumbers::open(Kind kind) {
    ++depth_;
    open_[depth_] = next_[depth_] = kind;
}

/// List elements have no names.
void ExactNumbers::open_list() {
    const Kind kind = next_[depth_];
    open(kind == Kind::names ? Kind::body : kind == Kind::schemas ? Kind::schema : kind);
}

void ExactNumbers::key(std::string_view name) {
    const Kind kind = kind_of_member(name);
    const Kind outer = open_[depth_];
    if (kind == Kind::exact && outer != Kind::exact)
        exact_name_ = name;
    if (kind == Kind::annotation && outer != Kind::annotation)
        annotation_name_ = name;
    next_[depth_] = kind;
    is_reference_ = (outer == Kind::body || outer == Kind::schema) && is_among(references, name);
}

ExactNumbers::Kind ExactNumbers::kind_of_member(std::string_view name) const {
    const Kind outer = open_[depth_];
    if (outer == Kind::names)
        return Kind::body;
    if (outer == Kind::schemas)
        return Kind::schema;
    if (outer != Kind::body && outer != Kind::schema)
        return outer;
    if (is_among(exact_keywords, name))
        return Kind::exact;
    if (is_among(grammar::map_keywords, name))
        return outer == Kind::schema ? Kind::schemas : Kind::names;
    if (outer == Kind::schema)
        return is_among(grammar::schema_keywords, name) ? Kind::schema : Kind::annotation;
    const bool is_schema =
        is_among(schema_members, name) || (depth_ == root_depth && name == root_schema_member);
    return is_schema ? Kind::schema : Kind::body;
}

void ExactNumbers::string(std::string_view text) {
    leads_outside_ = leads_outside_ || (is_reference_ && may_lead_outside(text));
}

void ExactNumbers::number(std::string_view text) {
    const Kind kind = next_[depth_];
    const bool is_exact = kind == Kind::exact;
    std::string& refusal = is_exact ? refusal_ : doubt_;
    if ((!is_exact && kind != Kind::annotation) || !refusal.empty() || is_kept(text))
        return;
    refusal =
        fmt::format("the body's JSON has a number of more digits than are kept, in `{}`: {}; "
                    "round it to {} digits",
                    is_exact ? exact_name_ : annotation_name_, text.substr(0, digits_shown), double_digits);
}

} // namespace etna::server
