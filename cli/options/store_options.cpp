#include "cli/options/store_options.hpp"

#include <array>
#include <chrono>
#include <span>
#include <string>

namespace etna::cli {
namespace {

constexpr double lifetime_max_s = 3'153'600'000; ///< a hundred years
constexpr double entries_max = 1e9;
constexpr double store_bytes_max = 1LL << 50;
constexpr double batches_range_max = 10'000;

constexpr std::array store_rows = {
    Option{.name = "store",
           .value = "FILE",
           .kind = Kind::text,
           .default_text = "$XDG_DATA_HOME/etna/responses.db",
           .description = "where to store responses and conversations; a file, `memory` or `none`"},
    Option{.name = "store-max-bytes",
           .value = "SIZE",
           .kind = Kind::size,
           .range = {0, store_bytes_max},
           .default_text = "1G in a file, 256M in memory",
           .description = "maximum size of the store; 0: no limit; the oldest entry of the key with the most "
                          "data is evicted first"},
    Option{.name = "responses-store-max-entries",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, entries_max},
           .default_text = "1024 in memory, in a file as many as fit",
           .description = "maximum stored responses, and as many stored chats; 0 stores none",
           .second_environment_name = "LLAMA_ARG_RESPONSES_STORE_MAX_ENTRIES"},
    Option{.name = "responses-store-ttl-secs",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {0, lifetime_max_s},
           .default_text = "3600 in memory, 30 days in a file",
           .description = "lifetime of stored responses and chats; 0: no limit",
           .second_environment_name = "LLAMA_ARG_RESPONSES_STORE_TTL_SECS"},
    Option{.name = "conversation-store-max-entries",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, entries_max},
           .default_text = "256 in memory, in a file as many as fit",
           .description = "maximum stored conversations; 0 stores none",
           .second_environment_name = "LLAMA_ARG_CONVERSATION_STORE_MAX_ENTRIES"},
    Option{.name = "conversation-store-ttl-secs",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {0, lifetime_max_s},
           .default_text = "3600 in memory, 30 days in a file",
           .description = "lifetime of a conversation after its last addition; 0: no limit",
           .second_environment_name = "LLAMA_ARG_CONVERSATION_STORE_TTL_SECS"},
    Option{.name = "files-max-bytes",
           .value = "SIZE",
           .kind = Kind::size,
           .range = {0, store_bytes_max},
           .default_text = "4G",
           .description =
               "maximum bytes on the disk of the files of batches, their inputs and outputs, next to "
               "the store's file; a key within its share replaces files of the others"},
    Option{.name = "batches-max",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, batches_range_max},
           .default_text = "64",
           .description = "maximum unfinished batches; more are refused, except those of a key within its "
                          "share"},
};

constexpr auto store_table = in_category(Category::server, store_rows);

/// Default limits.
struct StoreDefaults {
    uint64_t responses = 0;
    uint64_t conversations = 0;
    std::chrono::seconds age{0};
    uint64_t bytes = 0;
};

constexpr StoreDefaults memory_defaults = {
    .responses = 1024, .conversations = 256, .age = std::chrono::hours(1), .bytes = uint64_t{256} << 20U};
constexpr StoreDefaults file_defaults = {.responses = UINT32_MAX,
                                         .conversations = UINT32_MAX,
                                         .age = std::chrono::hours(24 * 30),
                                         .bytes = uint64_t{1} << 30U};

Result<server::storage::Bounds> read_bounds(const OptionValues& values, const std::string& kind,
                                            uint64_t default_entries, std::chrono::seconds default_age) {
    ETNA_TRY(const auto entries, values.integer(kind + "-store-max-entries"));
    ETNA_TRY(const auto age_s, values.integer(kind + "-store-ttl-secs"));
    return server::storage::Bounds{.entries_max = entries ? *entries : default_entries,
                                   .age_max = age_s ? std::chrono::seconds(*age_s) : default_age};
}

/// Reads the limits; the caller sets the file.
Result<server::storage::StoreOptions> read_store_limits(const OptionValues& values,
                                                        const StoreDefaults& defaults) {
    server::storage::StoreOptions options;
    ETNA_TRY(options.responses, read_bounds(values, "responses", defaults.responses, defaults.age));
    ETNA_TRY(options.conversations,
             read_bounds(values, "conversation", defaults.conversations, defaults.age));
    options.completions = options.responses;
    ETNA_TRY(const auto bytes, values.size_bytes("store-max-bytes"));
    options.bytes_max = bytes.value_or(defaults.bytes);
    return options;
}

} // namespace

std::span<const Option> store_options() {
    return store_table;
}

Result<server::PersistenceOptions> read_store(const OptionValues& values) {
    const auto location = values.text("store");
    if (location && location->empty())
        return invalid_argument("--store is empty", "use a file name, `memory` or `none`");
    server::PersistenceOptions options;
    options.is_enabled = location != "none";
    ETNA_TRY(options.store,
             read_store_limits(values, location == "memory" ? memory_defaults : file_defaults));
    ETNA_TRY(const auto files_bytes, values.size_bytes("files-max-bytes"));
    options.batches.files_bytes_max = files_bytes.value_or(options.batches.files_bytes_max);
    ETNA_TRY(const auto batches, values.integer("batches-max"));
    options.batches.batches_max = batches.value_or(options.batches.batches_max);
    if (location && location != "memory" && options.is_enabled)
        options.store.file = *location;
    if (!location) {
        ETNA_TRY(options.in_memory, read_store_limits(values, memory_defaults));
    }
    return options;
}

} // namespace etna::cli
