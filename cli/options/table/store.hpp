#pragma once

#include "cli/options/option_table.hpp"

#include <array>

// Options for the data that `etna serve` stores between requests.
namespace etna::cli::table {

inline constexpr double kept_seconds_max = 3'153'600'000; ///< a hundred years
inline constexpr double kept_entries_max = 1e9;
inline constexpr double kept_bytes_max = 1LL << 50;

inline constexpr std::array store_options = {
    Option{.name = "store",
           .value = "FILE",
           .kind = Kind::text,
           .default_text = "$XDG_DATA_HOME/etna/responses.db",
           .description = "where responses and conversations are kept: a file, `memory`, or `none`",
           .category = Category::server},
    Option{.name = "store-max-bytes",
           .value = "SIZE",
           .kind = Kind::size,
           .range = {0, kept_bytes_max},
           .default_text = "1G in a file, 256M in memory",
           .description = "how much is kept, 0 is no bound; the oldest of the key that has most leaves first",
           .category = Category::server},
    Option{.name = "responses-store-max-entries",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, kept_entries_max},
           .default_text = "1024 in memory, in a file as many as there is room for",
           .description = "how many responses, and as many stored chats, are kept; 0 keeps none",
           .category = Category::server,
           .second_environment_name = "LLAMA_ARG_RESPONSES_STORE_MAX_ENTRIES"},
    Option{.name = "responses-store-ttl-secs",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {0, kept_seconds_max},
           .default_text = "3600 in memory, 30 days in a file",
           .description = "how long responses and stored chats are kept; 0 is for ever",
           .category = Category::server,
           .second_environment_name = "LLAMA_ARG_RESPONSES_STORE_TTL_SECS"},
    Option{.name = "conversation-store-max-entries",
           .value = "N",
           .kind = Kind::integer,
           .range = {0, kept_entries_max},
           .default_text = "256 in memory, in a file as many as there is room for",
           .description = "how many conversations are kept; 0 keeps none",
           .category = Category::server,
           .second_environment_name = "LLAMA_ARG_CONVERSATION_STORE_MAX_ENTRIES"},
    Option{.name = "conversation-store-ttl-secs",
           .value = "SECONDS",
           .kind = Kind::integer,
           .range = {0, kept_seconds_max},
           .default_text = "3600 in memory, 30 days in a file",
           .description = "how long conversations are kept since they were last added to; 0 is for ever",
           .category = Category::server,
           .second_environment_name = "LLAMA_ARG_CONVERSATION_STORE_TTL_SECS"},
};

} // namespace etna::cli::table
