#include "cli/options/kv_events_options.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace etna::cli {
namespace {

constexpr double kept_batches_max = 10'000'000;
constexpr std::array<std::string_view, 2> event_formats = {"arrays", "maps"};

constexpr std::array kv_events_rows = {
    Option{.name = "kv-events",
           .value = "ENDPOINT",
           .kind = Kind::text,
           .description =
               "publish which pages the prompt caches hold, as vLLM does, at this ZeroMQ endpoint, such "
               "as tcp://*:5557 or ipc:///run/kv; one without * is a collector to connect to. The "
               "events hold the tokens of all prompts, unencrypted"},
    Option{.name = "kv-events-replay",
           .value = "ENDPOINT",
           .kind = Kind::text,
           .description =
               "send kept batches again to subscribers that ask at this endpoint, such as tcp://*:5558"},
    Option{.name = "kv-events-pod",
           .value = "NAME",
           .kind = Kind::text,
           .default_text = "HOSTNAME:PORT",
           .description = "name of this server in the topics, kv@NAME@MODEL"},
    Option{.name = "kv-events-buffer",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, kept_batches_max},
           .default_text = "10000",
           .description = "maximum batches that are kept of each model for --kv-events-replay; 64M at most"},
    Option{.name = "kv-events-high-water",
           .value = "N",
           .kind = Kind::integer,
           .range = {1, kept_batches_max},
           .default_text = "10000",
           .description = "maximum batches that wait for a slow subscriber; it misses those beyond"},
    Option{.name = "kv-events-format",
           .value = "FORM",
           .kind = Kind::choice,
           .choices = event_formats,
           .default_text = "arrays",
           .description = "form of an event: arrays, as vLLM up to 0.23; or maps, as "
                          "later versions"},
    Option{.name = "kv-events-partial",
           .description = "also publish pages that are not full; their block_size is their count of tokens"},
};

constexpr auto kv_events_table = in_category(Category::server, kv_events_rows);

Error needs_endpoint(std::string_view option) {
    return {ErrorKind::invalid_argument, fmt::format("--{} is given without --kv-events", option),
            "name the endpoint of the events with --kv-events ENDPOINT"};
}

} // namespace

std::span<const Option> kv_events_options() {
    return kv_events_table;
}

Result<std::optional<KvEventsOptions>> read_kv_events(const OptionValues& values) {
    using server::kv_events::EventFormat;
    using server::kv_events::PartialPages;
    KvEventsOptions options;
    const auto endpoint = values.text("kv-events");
    const auto replay = values.text("kv-events-replay");
    if (!endpoint) {
        if (replay)
            return needs_endpoint("kv-events-replay");
        return std::optional<KvEventsOptions>();
    }
    options.publisher.endpoint = *endpoint;
    options.publisher.replay_endpoint = replay.value_or("");
    options.pod = values.text("kv-events-pod").value_or("");
    if (options.pod.find('@') != std::string::npos) {
        return Error{
            ErrorKind::invalid_argument,
            fmt::format("--kv-events-pod: `{}` has an @, which separates the parts of a topic", options.pod)};
    }
    ETNA_TRY(const auto kept, values.integer("kv-events-buffer"));
    options.publisher.replay_batches_max = kept.value_or(options.publisher.replay_batches_max);
    ETNA_TRY(const auto high_water, values.integer("kv-events-high-water"));
    options.publisher.high_water = high_water.value_or(options.publisher.high_water);
    ETNA_TRY(const auto form, values.choice("kv-events-format"));
    options.publisher.format = form == "maps" ? EventFormat::maps : EventFormat::arrays;
    ETNA_TRY(const bool has_partial, values.flag("kv-events-partial"));
    options.publisher.partial = has_partial ? PartialPages::published : PartialPages::hidden;
    return std::optional(std::move(options));
}

} // namespace etna::cli
