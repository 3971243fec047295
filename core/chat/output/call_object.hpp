#pragma once

#include "core/chat/output/json_scanner.hpp"
#include "core/chat/output/syntax.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace etna::chat::output {

constexpr std::size_t max_name_bytes = 256; ///< of functions, ids, keys and words

/// Reads Slot::object byte by byte: the members that matter, in any order.
class CallObject {
public:
    explicit CallObject(const Members& members) : members_(&members) {}

    enum class Step : uint8_t { inside, done, bad };
    Step feed(char byte);

    [[nodiscard]] const std::string& name() const { return name_; } ///< empty: has not come
    [[nodiscard]] const std::string& id() const { return id_; }
    [[nodiscard]] bool has_arguments() const { return has_arguments_; }

    /// A member has come that calls do not have. Such objects are calls only where a mark says so.
    [[nodiscard]] bool is_odd() const { return is_odd_; }

    /// What has come of the arguments' JSON since the last time.
    std::string take_arguments();

private:
    enum class Member : uint8_t { none, name, arguments, id, other };

    Step end_key();
    Step begin_value(char byte);
    Step end_value();
    Step end_arguments();

    const Members* members_;
    JsonScanner scanner_;
    Member member_ = Member::none; ///< whose value is read
    bool in_value_ = false;
    std::string text_; ///< JSON of the key, or of the member's value
    std::string name_;
    std::string id_;
    std::string arguments_;
    bool streams_ = false; ///< the arguments are an object, as they should be
    bool has_arguments_ = false;
    bool is_odd_ = false;
};

} // namespace etna::chat::output
