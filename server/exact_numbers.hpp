#pragma once

#include "server/json.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace etna::server {

/// Scans a request body, while it is parsed, for numbers in its JSON schemas that constrain answers and have
/// more digits than a double can represent; such a request is refused. Numbers in annotations and in keywords
/// unknown to JSON Schema are ignored, unless a reference leads there.
class ExactNumbers {
public:
    void open_object() { open(next_[depth_]); }
    void open_list();
    void close() { --depth_; }
    void key(std::string_view name);
    void string(std::string_view text);
    void number(std::string_view text);

    /// Why the body is refused; empty if it is not. Final only at the end of the body.
    [[nodiscard]] const std::string& refusal() const {
        return refusal_.empty() && leads_outside_ ? doubt_ : refusal_;
    }

private:
    /// The role of a JSON value.
    enum class Kind : uint8_t {
        body,      ///< part of the request, or a schema in an unknown field
        names,     ///< an object whose member names are not keywords; its values are `body`
        schema,    ///< a schema or a list of schemas
        schemas,   ///< an object that maps names to schemas
        exact,     ///< numbers must be exactly representable
        annotation ///< does not constrain the answer
    };

    void open(Kind kind);
    [[nodiscard]] Kind kind_of_member(std::string_view name) const;

    std::array<Kind, json_depth_max + 1> open_{}; ///< the open container at each depth
    std::array<Kind, json_depth_max + 1> next_{}; ///< the next value at each depth
    std::size_t depth_ = 0;
    bool is_reference_ = false; ///< the next value is a reference
    bool leads_outside_ = false;
    std::string exact_name_;      ///< the last keyword with an exact value
    std::string annotation_name_; ///< the last keyword with an annotation value
    std::string refusal_;
    std::string doubt_; ///< the refusal if a reference leads to the value
};

} // namespace etna::server
