#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace etna::store {

/// A part of a file that a download left, and that no process fetches now. download() resumes it.
struct UnfinishedDownload {
    std::filesystem::path path; ///< ends with ".part"; PATH.ranges lists the ranges in it
    uint64_t disk_bytes = 0;
};

/// Lists the unfinished downloads in a folder of models, by path. Tries the lock of each, and leaves out
/// those that a process holds or that cannot be opened.
std::vector<UnfinishedDownload> unfinished_downloads(const std::filesystem::path& models_folder);

} // namespace etna::store
