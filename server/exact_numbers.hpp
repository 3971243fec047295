#pragma once

#include "server/json.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace etna::server {

/// Looks, in a request's body as it is read, for numbers of its schemas that say which answers are allowed
/// and have more digits than a double keeps: no digit of them may be lost. What stands in annotations and in
/// words that JSON Schema does not have says nothing, unless a reference leads there.
class ExactNumbers {
public:
    void open_object() { open(next_[depth_]); }
    void open_list();
    void close() { --depth_; }
    void key(std::string_view name);
    void string(std::string_view text);
    void number(std::string_view text);

    /// Why the body is refused; empty where it is not. Whole at the body's end alone.
    [[nodiscard]] const std::string& refusal() const {
        return refusal_.empty() && leads_outside_ ? doubt_ : refusal_;
    }

private:
    /// What a value is.
    enum class Kind : uint8_t {
        body,      ///< of the request, or a schema where nobody knows of one
        names,     ///< an object whose members' names are no keywords, of values of `body`
        schema,    ///< or a list of schemas
        schemas,   ///< an object of schemas by names
        exact,     ///< no digit in it may be lost
        annotation ///< says nothing of the answer
    };

    void open(Kind kind);
    [[nodiscard]] Kind kind_of_member(std::string_view name) const;

    std::array<Kind, json_depth_max + 1> open_{}; ///< what is open at each depth
    std::array<Kind, json_depth_max + 1> next_{}; ///< the next value there
    std::size_t depth_ = 0;
    bool is_reference_ = false; ///< the next value
    bool leads_outside_ = false;
    std::string exact_name_;      ///< the last keyword that made its value exact
    std::string annotation_name_; ///< the last word that made its value an annotation
    std::string refusal_;
    std::string doubt_; ///< a refusal, if a reference leads to it
};

} // namespace etna::server
