#pragma once

#include "core/base/result.hpp"

#include <memory>
#include <optional>
#include <string_view>

namespace etna::text {

/// The range of a match, as byte offsets into the text.
struct RegexMatch {
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// A compiled Unicode regular expression (PCRE2 with UTF and UCP, JIT-compiled if the platform supports it).
/// `\s` and `\S` mean the White_Space property, as in Rust's and Oniguruma's engines, not PCRE2's wider set.
/// Immutable; thread-safe.
class Regex {
public:
    /// Errors: internal (the expression does not compile).
    static Result<Regex> compile(std::string_view expression);

    /// Match state for one thread, reusable for any number of texts.
    class Search {
    public:
        explicit Search(const Regex& regex); ///< borrows `regex`
        Search(Search&&) noexcept;
        ~Search();

        /// Returns the leftmost match in `text` (valid UTF-8, not checked) that begins at `from` or later.
        /// Errors: invalid_argument (the work exceeds a bound that grows with the text's length).
        Result<std::optional<RegexMatch>> next(std::string_view text, std::size_t from);

    private:
        struct Impl;
        std::unique_ptr<Impl> impl_;
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
