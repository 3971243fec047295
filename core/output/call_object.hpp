#pragma once

#include "core/output/json_scanner.hpp"
#include "core/output/syntax.hpp"

#include <cstdint>
#include <string>

namespace etna::output {

constexpr std::size_t max_name_bytes = 256; ///< for names of functions, ids, keys and words

/// Incremental parser for Field::object, byte by byte; extracts name, id and arguments in any order. They may
/// also be the members of an object in a member "function", as in the messages of OpenAI's API.
class CallObject {
public:
    explicit CallObject(const Members& members) : members_(&members) {}

    enum class Step : uint8_t { inside, done, bad };
    Step feed(char byte);

    [[nodiscard]] const std::string& name() const { return name_; } ///< empty: not read yet
    [[nodiscard]] const std::string& id() const { return id_; }
    [[nodiscard]] bool has_arguments() const { return has_arguments_; }

    /// Whether the object has a member that calls do not have. Such an object is a call only after a marker.
    [[nodiscard]] bool is_odd() const { return is_odd_; }

    /// Whether nothing but the opening brace has been read.
    [[nodiscard]] bool is_empty() const { return scanner_.phase() == JsonScanner::Phase::first_key; }

    /// Whether a name and complete arguments have been read, and only closing braces may be missing.
    [[nodiscard]] bool lacks_only_braces() const {
        return !name_.empty() && has_arguments_ && !in_value_ && scanner_.phase() == JsonScanner::Phase::next;
    }

    /// Returns the arguments' JSON read since the last call.
    std::string take_arguments();

private:
    enum class Member : uint8_t { none, name, arguments, id, function, other };

    Step end_key();
    Step begin_value(char byte);
    Step end_value();
    Step end_arguments();

    const Members* members_;
    JsonScanner scanner_;
    std::size_t level_ = 1;        ///< depth of the members: 2 in a member "function"
    Member member_ = Member::none; ///< the member whose value is being read
    bool in_value_ = false;
    std::string text_; ///< JSON of the key, or of the member's value
    std::string name_;
    std::string id_;
    std::string arguments_;
    bool streams_ = false; ///< the arguments are an object (not a string or null), so they are streamed
    bool has_arguments_ = false;
    bool is_odd_ = false;
};

} // namespace etna::output
