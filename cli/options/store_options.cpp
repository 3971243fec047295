#include "cli/options/store_options.hpp"

#include <string_view>

namespace etna::cli {
namespace {

/// Default limits.
struct Usual {
    uint64_t responses = 0;
    uint64_t conversations = 0;
    std::chrono::seconds age{0};
    uint64_t bytes = 0;
};

constexpr Usual in_memory = {
    .responses = 1024, .conversations = 256, .age = std::chrono::hours(1), .bytes = uint64_t{256} << 20U};
constexpr Usual in_file = {.responses = UINT32_MAX,
                           .conversations = UINT32_MAX,
                           .age = std::chrono::hours(24 * 30),
                           .bytes = uint64_t{1} << 30U};

Result<server::storage::Bounds> read_bounds(const OptionValues& values, const std::string& kind,
                                            uint64_t entries, std::chrono::seconds age) {
    ETNA_TRY(const auto wished_entries, values.integer(kind + "-store-max-entries"));
    ETNA_TRY(const auto wished_age, values.integer(kind + "-store-ttl-secs"));
    return server::storage::Bounds{.entries_max = wished_entries ? *wished_entries : entries,
                                   .age_max = wished_age ? std::chrono::seconds(*wished_age) : age};
}

/// Reads the limits; the caller sets the file.
Result<server::storage::StoreOptions> read_options(const OptionValues& values, const Usual& usual) {
    server::storage::StoreOptions options;
    ETNA_TRY(options.responses, read_bounds(values, "responses", usual.responses, usual.age));
    ETNA_TRY(options.conversations, read_bounds(values, "conversation", usual.conversations, usual.age));
    options.completions = options.responses;
    ETNA_TRY(const auto bytes, values.size_bytes("store-max-bytes"));
    options.bytes_max = bytes.value_or(usual.bytes);
    return options;
}

} // namespace

Result<server::PersistenceOptions> read_store(const OptionValues& values) {
    const auto place = values.text("store");
    if (place && place->empty()) {
        return Error{ErrorKind::invalid_argument, "--store is empty",
                     "name a file, or say `memory` or `none`"};
    }
    server::PersistenceOptions options;
    options.is_enabled = place != "none";
    ETNA_TRY(options.store, read_options(values, place == "memory" ? in_memory : in_file));
    if (place && place != "memory" && options.is_enabled)
        options.store.file = *place;
    if (!place) {
        ETNA_TRY(options.in_memory, read_options(values, in_memory));
    }
    return options;
}

} // namespace etna::cli
