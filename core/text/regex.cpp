#include "core/text/regex.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include <fmt/format.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace etna::text {
namespace {

// Limits for one call of pcre2_match: hostile text ends in an error, not in a hang.
constexpr uint64_t match_steps_minimum = 100'000;
constexpr uint64_t match_steps_per_byte = 100;
constexpr uint32_t match_heap_kib = 256 * 1024;

std::string with_white_space_property(std::string_view expression) {
    std::string result;
    for (std::size_t i = 0; i < expression.size(); ++i) {
        if (expression[i] != '\\' || i + 1 == expression.size()) {
            result += expression[i];
            continue;
        }
        const char escaped = expression[++i];
        if (escaped == 's') {
            result += "\\p{White_Space}";
        } else if (escaped == 'S') {
            result += "\\P{White_Space}";
        } else {
            (result += '\\') += escaped;
        }
    }
    return result;
}

std::string describe(int pcre2_error) {
    PCRE2_UCHAR message[256];
    if (pcre2_get_error_message(pcre2_error, message, sizeof message) < 0)
        return fmt::format("PCRE2 error {}", pcre2_error);
    return reinterpret_cast<const char*>(message);
}

struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
    void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

} // namespace

struct Regex::Code {
    std::unique_ptr<pcre2_code, Free> compiled;
};

Regex::Regex(std::unique_ptr<Code> code) : code_(std::move(code)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::compile(std::string_view expression) {
    const std::string pattern = with_white_space_property(expression);
    int error = 0;
    PCRE2_SIZE offset = 0;
    std::unique_ptr<pcre2_code, Free> compiled(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()),
                                                             pattern.size(), PCRE2_UTF | PCRE2_UCP, &error,
                                                             &offset, nullptr));
    if (!compiled) {
        return Error{ErrorKind::internal,
                     fmt::format("regular expression `{}` at {}: {}", pattern, offset, describe(error))};
    }
    // Without JIT (platform, hardened kernel) the interpreter gives the same results.
    (void)pcre2_jit_compile(compiled.get(), PCRE2_JIT_COMPLETE);
    return Regex(std::make_unique<Code>(Code{std::move(compiled)}));
}

struct Regex::Search::Impl {
    const pcre2_code* code;
    std::unique_ptr<pcre2_match_data, Free> data;
    std::unique_ptr<pcre2_match_context, Free> context;
};

Regex::Search::Search(const Regex& regex) : impl_(std::make_unique<Impl>()) {
    impl_->code = regex.code_->compiled.get();
    impl_->data.reset(pcre2_match_data_create_from_pattern(impl_->code, nullptr));
    impl_->context.reset(pcre2_match_context_create(nullptr));
}
Regex::Search::Search(Search&&) noexcept = default;
Regex::Search::~Search() = default;

Result<std::optional<RegexMatch>> Regex::Search::next(std::string_view text, std::size_t from) {
    if (!impl_->data || !impl_->context)
        return Error{ErrorKind::out_of_memory, "no memory to split text into words"};
    const uint64_t steps = match_steps_minimum + match_steps_per_byte * (text.size() - from);
    pcre2_set_match_limit(impl_->context.get(), static_cast<uint32_t>(std::min<uint64_t>(
                                                    steps, std::numeric_limits<uint32_t>::max())));
    pcre2_set_heap_limit(impl_->context.get(), match_heap_kib);
    const auto match = [&](uint32_t options) {
        return pcre2_match(impl_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                           PCRE2_NO_UTF_CHECK | options, impl_->data.get(), impl_->context.get());
    };
    int found = match(0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT)
        found = match(PCRE2_NO_JIT);
    if (found == PCRE2_ERROR_NOMATCH)
        return std::optional<RegexMatch>();
    if (found < 0) {
        return invalid_argument(
            fmt::format("text of {} bytes cannot be split into words: {}", text.size(), describe(found)));
    }
    const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(impl_->data.get());
    return std::optional<RegexMatch>(RegexMatch{bounds[0], bounds[1]});
}

} // namespace etna::text
