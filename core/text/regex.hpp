#pragma once

#include "core/base/result.hpp"

#include <memory>
#include <optional>
#include <string_view>

namespace etna::text {

/// Where an expression matched, in bytes of the text.
struct RegexMatch {
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// A compiled Unicode regular expression (PCRE2 with UTF and UCP, machine code where the platform has it).
/// `\s` and `\S` are read as the White_Space property, as Rust's and Oniguruma's engines do, not as PCRE2's
/// wider set. Immutable; thread-safe.
class Regex {
public:
    /// Error: internal, when the expression does not compile.
    static Result<Regex> compile(std::string_view expression);

    /// Matches one text after another; holds what a single thread needs.
    class Search {
    public:
        explicit Search(const Regex& regex); ///< borrows `regex`
        Search(Search&&) noexcept;
        ~Search();

        /// The leftmost match in `text` (valid UTF-8, not checked) that begins at `from` or later.
        /// Error: invalid_argument, when the effort passes a bound that grows with the text's length.
        Result<std::optional<RegexMatch>> next(std::string_view text, std::size_t from);

    private:
        struct Content;
        std::unique_ptr<Content> content_;
    };

    Regex(Regex&&) noexcept;
    Regex& operator=(Regex&&) noexcept;
    ~Regex();

private:
    struct Code;
    explicit Regex(std::unique_ptr<Code> code);
    std::unique_ptr<Code> code_;
};

} // namespace etna::text
