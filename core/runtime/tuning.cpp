#include "core/runtime/tuning.hpp"

#include "core/base/build_id.hpp"
#include "core/base/log.hpp"
#include "core/kernels/policy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace etna::runtime {
namespace {

using kernels::TunedShape;

constexpr std::size_t choices_max = 4096; ///< of a file

/// kernel, format, arrangement, rows, columns, kv_heads, workgroup, rows, subgroup, time, time of the
/// policy's sizes, date
constexpr std::size_t line_words = 12;

std::string line_of(const StoredChoice& one) {
    return fmt::format("{} {} {} {} {} {} {} {} {} {:.3f} {:.3f} {}\n", kernels::to_string(one.shape.kernel),
                       kernels::to_string(one.shape.layout.format),
                       kernels::to_string(one.shape.layout.arrangement), one.shape.rows, one.shape.columns,
                       one.shape.kv_heads, one.sizes.workgroup, one.sizes.rows, one.sizes.subgroup,
                       one.time_us, one.policy_us, one.date);
}

template <class Number>
bool read_number(std::string_view word, Number& number) {
    const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), number);
    return failure == std::errc() && end == word.data() + word.size();
}

/// A time that display code may divide by.
bool read_time(std::string_view word, double& time_us, double min_us) {
    constexpr double time_us_max = 1e12;
    return read_number(word, time_us) && time_us >= min_us && time_us <= time_us_max;
}

bool is_date(std::string_view word) {
    constexpr std::string_view form = "0000-00-00";
    return std::ranges::equal(word, form, [](char one, char expected) {
        return expected == '-' ? one == '-' : one >= '0' && one <= '9';
    });
}

bool read_layout(std::string_view format, std::string_view arrangement, kernels::Layout& layout) {
    using kernels::Arrangement;
    bool has_format = false;
    for (uint32_t i = 0; i < kernels::format_count; ++i) {
        if (kernels::to_string(static_cast<kernels::Format>(i)) == format) {
            layout.format = static_cast<kernels::Format>(i);
            has_format = true;
        }
    }
    for (const Arrangement one : {Arrangement::rows, Arrangement::lanes, Arrangement::tiles}) {
        if (kernels::to_string(one) == arrangement) {
            layout.arrangement = one;
            return has_format;
        }
    }
    return false;
}

/// Empty if the line is not one of line_of() with sizes that the target's kernel can have.
std::optional<StoredChoice> choice_of(std::string_view line, const kernels::PlanTarget& target) {
    std::array<std::string_view, line_words> words;
    for (std::string_view& word : words) {
        const std::size_t end = line.find(' ');
        word = line.substr(0, end);
        line = end == std::string_view::npos ? std::string_view() : line.substr(end + 1);
    }
    StoredChoice one;
    const auto kernel = kernels::tuned_kernel_named(words[0]);
    const bool is_readable =
        line.empty() && kernel && read_layout(words[1], words[2], one.shape.layout) &&
        read_number(words[3], one.shape.rows) && read_number(words[4], one.shape.columns) &&
        read_number(words[5], one.shape.kv_heads) && read_number(words[6], one.sizes.workgroup) &&
        read_number(words[7], one.sizes.rows) && read_number(words[8], one.sizes.subgroup) &&
        read_time(words[9], one.time_us, 1e-3) && read_time(words[10], one.policy_us, 0) &&
        is_date(words[11]);
    if (!is_readable)
        return std::nullopt;
    one.shape.kernel = *kernel;
    one.date = words[11];
    one.precision = target.precision;
    const std::vector<kernels::WorkgroupSizes> candidates = kernels::tuning_candidates(target, one.shape);
    const bool is_candidate = std::ranges::find(candidates, one.sizes) != candidates.end();
    return is_candidate ? std::optional(std::move(one)) : std::nullopt;
}

/// Empty if the text is not a list of choices, each for another shape.
std::optional<std::vector<StoredChoice>> choices_of(std::string_view text,
                                                    const kernels::PlanTarget& target) {
    std::vector<StoredChoice> choices;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos || choices.size() == choices_max)
            return std::nullopt;
        auto one = choice_of(text.substr(0, end), target);
        if (!one || std::ranges::find(choices, one->shape, &StoredChoice::shape) != choices.end())
            return std::nullopt;
        choices.push_back(std::move(*one));
        text.remove_prefix(end + 1);
    }
    return choices;
}

std::string today() {
    const std::chrono::year_month_day date(
        std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()));
    return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

/// Adds a choice to those that the file holds now: another process may have stored some.
Status store(const StoredTuning& stored, const kernels::PlanTarget& target,
             const kernels::TunedChoice& choice) {
    std::vector<StoredChoice> choices = stored.read(target);
    std::erase_if(choices, [&](const StoredChoice& one) { return one.shape == choice.shape; });
    choices.push_back({.shape = choice.shape,
                       .sizes = choice.sizes,
                       .time_us = choice.time_us,
                       .policy_us = choice.policy_us,
                       .date = today()});
    return stored.write(choices);
}

} // namespace

StoredTuning::StoredTuning(const std::filesystem::path& folder, const vk::DeviceProfile& profile,
                           kernels::PlanFamily family, kernels::Precision precision)
    // The key includes the build, because policy and dispatch code are not part of the shaders.
    : file_(folder, profile, "tuning",
            fmt::format("{} {} etna {} {}", kernels::to_string(family), kernels::to_string(precision),
                        ETNA_VERSION, build_id())) {}

std::vector<StoredChoice> StoredTuning::read(const kernels::PlanTarget& target) const {
    const std::vector<std::byte> content = file_.read();
    auto choices = choices_of({reinterpret_cast<const char*>(content.data()), content.size()}, target);
    if (!choices || (content.empty() && file_.exists())) {
        log(LogLevel::warning,
            fmt::format("{} is damaged or of another build, and is ignored; `etna tune MODEL` replaces it",
                        file_.path().string()));
        return {};
    }
    return std::move(*choices);
}

Status StoredTuning::write(std::span<const StoredChoice> choices) const {
    std::string text;
    for (const StoredChoice& one : choices)
        text += line_of(one);
    return file_.try_write(std::as_bytes(std::span(text)));
}

Status StoredTuning::forget() const {
    return file_.remove();
}

kernels::Tuning tuning_of(std::span<const StoredChoice> choices) {
    kernels::Tuning tuning;
    for (const StoredChoice& one : choices)
        tuning.set(one.shape, one.sizes);
    return tuning;
}

Result<TuneReport> tune_shapes(vk::Device& device, std::span<const TunedShape> shapes,
                               const kernels::TuneOptions& options, const TuneRequest& request) {
    const kernels::PlanTarget target = kernels::Library(device, options.library).target();
    const StoredTuning stored(request.cache_folder, target.profile, target.family, target.precision);
    TuneReport report{.device_name = target.profile.name, .choices = {}, .left_out = {}};
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        if (request.progress)
            request.progress(shapes[i], i, shapes.size());
        auto choice = kernels::tune(device, shapes[i], options);
        if (!choice)
            return choice.error().while_doing("while measuring " + describe(shapes[i]));
        report.is_cancelled = options.is_cancelled && options.is_cancelled() && !*choice;
        if (report.is_cancelled)
            return report;
        if (!*choice) {
            report.left_out.push_back(shapes[i]);
            continue;
        }
        ETNA_CHECK(store(stored, target, **choice));
        report.choices.push_back(**choice);
    }
    return report;
}

} // namespace etna::runtime
