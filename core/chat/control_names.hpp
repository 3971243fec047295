#pragma once

#include "core/base/special_matcher.hpp"

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etna::chat {

/// Returns the text with ASCII letters in lower case; control tokens have no other letters with two cases.
std::string folded(std::string_view text);

/// Returns whether the text has only letters, digits, _ and - of ASCII.
bool is_identifier(std::string_view text);

/// Why a client's text could become a control token, from certain to far-fetched.
enum class Spelling : uint8_t {
    name,    ///< it has the token's name
    end,     ///< it begins or ends with a part of the name, or has it in other letter case
    removal, ///< a template that cuts text out of it could join the parts of a name
};

/// A position inside a text at which a token's name has to be broken.
struct NameBreak {
    std::size_t position = 0; ///< in bytes, at a character
    Spelling spelling = Spelling::name;
};

/// Finds the names of control tokens, and parts of them that a template could complete, in the texts of
/// clients. Immutable; thread-safe.
class ControlNames {
public:
    /// `names` are those of the control tokens, `template_text` is the source of the chat template.
    ControlNames(std::span<const std::string> names, std::string_view template_text);

    /// Returns the breaks of a client's text, ascending; nearly always none. Each is inside the name that it
    /// breaks, so that trimming the text or testing how it begins gives the same result as before.
    [[nodiscard]] std::vector<NameBreak> breaks(std::string_view text) const;

private:
    void add_template(std::string_view text, std::span<const std::string> names);
    void add_enclosed(std::string_view name, const std::set<std::string, std::less<>>& ends,
                      const std::set<std::string, std::less<>>& begins);
    void break_ends(std::string_view folded, std::vector<NameBreak>& found) const;
    void break_after_cuts(std::string_view text, std::vector<NameBreak>& found) const;
    [[nodiscard]] bool ends_name(std::string_view folded) const;
    [[nodiscard]] bool continues_name(std::string_view folded) const;

    SpecialMatcher names_;
    SpecialMatcher folded_;   ///< the names in small letters
    SpecialMatcher reversed_; ///< and these backwards
    SpecialMatcher literals_; ///< strings in the template that begin as a name does, and do not begin one
    SpecialMatcher cuts_;     ///< strings that the template may cut out of texts
    bool begins_[256] = {};   ///< first bytes of names
    std::size_t longest_ = 0; ///< bytes of a name
    /// Texts that the template's own text on both sides completes to a name: "|im_start|" in `<{{ key }}>`.
    std::set<std::string, std::less<>> enclosed_;
};

} // namespace etna::chat
