#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

// The store's file, seen past the store.
namespace etna::test {

/// Runs SQL on a file that no store has open; throws std::runtime_error where that fails. Gives the first
/// number of the last row.
int64_t run_sql(const std::filesystem::path& file, const std::string& sql);

std::string content_of(const std::filesystem::path& file);
void overwrite(const std::filesystem::path& file, const std::string& content);

} // namespace etna::test
