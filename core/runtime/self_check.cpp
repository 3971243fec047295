#include "core/runtime/self_check.hpp"

#include "core/base/build_id.hpp"
#include "core/base/log.hpp"
#include "core/kernels/kernel_choices.hpp"

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace etna::runtime {
namespace {

using kernels::SelfCheckVerdict;

constexpr std::string_view right_word = "right ";
constexpr std::string_view wrong_word = "wrong ";

/// Formats one kernel per line: "right NAME" or "wrong NAME".
std::string text_of(const SelfCheckVerdict& verdict) {
    std::string text;
    for (const std::string_view name : verdict.right.names())
        text += fmt::format("{}{}\n", right_word, name);
    for (const std::string_view name : verdict.wrong.names())
        text += fmt::format("{}{}\n", wrong_word, name);
    return text;
}

/// Adds a line to the verdict; returns false if this build does not understand it.
bool read_line(std::string_view line, SelfCheckVerdict& verdict) {
    const bool is_right = line.starts_with(right_word);
    if (!is_right && !line.starts_with(wrong_word))
        return false;
    const auto variant = kernels::variant_named(line.substr(right_word.size()));
    if (!variant || verdict.right.contains(*variant) || verdict.wrong.contains(*variant))
        return false;
    (is_right ? verdict.right : verdict.wrong).add(*variant);
    return true;
}

SelfCheckVerdict verdict_of(std::string_view text) {
    SelfCheckVerdict verdict;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos || !read_line(text.substr(0, end), verdict))
            return {};
        text.remove_prefix(end + 1);
    }
    return verdict;
}

/// Time limit for checking kernels at a start; later starts check the remaining ones. For a mixture of
/// experts in many formats a CPU driver compiles for several seconds.
constexpr std::chrono::milliseconds time_limit(1500);

/// Logs the results that are new since `known`.
void report(const vk::DeviceProfile& profile, const SelfCheckVerdict& known, const SelfCheckVerdict& verdict,
            std::size_t left, std::chrono::steady_clock::duration took) {
    const std::size_t checked =
        verdict.right.size() + verdict.wrong.size() - known.right.size() - known.wrong.size();
    log(LogLevel::info, fmt::format("checked {} kernels on {} in {} ms{}", checked, profile.name,
                                    std::chrono::duration_cast<std::chrono::milliseconds>(took).count(),
                                    left == 0 ? "" : fmt::format("; {} are left for the next start", left)));
    for (const std::string_view name : verdict.wrong.names()) {
        if (!known.wrong.contains(*kernels::variant_named(name))) {
            log(LogLevel::warning, fmt::format("kernel {} computes wrongly on {} ({}) and is set aside", name,
                                               profile.name, profile.driver));
        }
    }
}

} // namespace

StoredVerdict::StoredVerdict(const std::filesystem::path& folder, const vk::DeviceProfile& profile,
                             kernels::PlanFamily family, kernels::Precision precision)
    // The key includes the build, because dispatch and self-check code are not part of the shaders.
    : file_(folder, profile, "self-check",
            fmt::format("{} {} etna {} {}", kernels::to_string(family), kernels::to_string(precision),
                        ETNA_VERSION, build_id())) {}

SelfCheckVerdict StoredVerdict::read() const {
    const std::vector<std::byte> content = file_.read();
    return verdict_of({reinterpret_cast<const char*>(content.data()), content.size()});
}

void StoredVerdict::write(const SelfCheckVerdict& verdict) const {
    const std::string text = text_of(verdict);
    file_.write(std::as_bytes(std::span(text)));
}

Result<kernels::VariantSet> check_kernels(vk::Device& device, const KernelCheckOptions& options) {
    const vk::DeviceProfile& profile = device.profile();
    const kernels::PlanFamily family = options.plan_as.value_or(kernels::natural_family(profile));
    const StoredVerdict stored(options.cache_folder, profile, family, options.precision);
    const SelfCheckVerdict known = stored.read();
    const auto start = std::chrono::steady_clock::now();
    ETNA_TRY(const SelfCheckVerdict verdict, kernels::self_check(device, {.family = family,
                                                                          .precision = options.precision,
                                                                          .needed = options.needed,
                                                                          .known = known,
                                                                          .time_limit = time_limit,
                                                                          .progress = options.progress}));
    const kernels::PlanTarget target{
        .family = family, .profile = profile, .untrusted = verdict.wrong, .precision = options.precision};
    if (verdict != known) {
        ETNA_TRY(const std::size_t left, kernels::kernels_left(target, options.needed, verdict));
        report(profile, known, verdict, left, std::chrono::steady_clock::now() - start);
        stored.write(verdict);
    }
    ETNA_CHECK(kernels::require_trusted(target, options.needed));
    return verdict.wrong;
}

} // namespace etna::runtime
