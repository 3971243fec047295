#pragma once

#include "core/base/result.hpp"
#include "server/batch/batch.hpp"
#include "server/batch/batch_queue.hpp"
#include "server/batch/files.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace etna::server::batch {

/// The folders of batches on the disk: state, input, and outputs while they grow. Files counts their bytes.
/// Blocks. create(), save() and remove() are not thread-safe; the others are for different batches.
class BatchFolders {
public:
    /// Borrows `files`.
    BatchFolders(std::filesystem::path folder, Files& files) : folder_(std::move(folder)), files_(&files) {}

    /// Reads all batches, and removes the remains of interrupted changes. Damaged batches are left out.
    /// Errors: io.
    Result<std::vector<SharedBatch>> read();

    /// Makes the folder of a new batch. Errors: io, busy (no room by the limits).
    Status create(Batch& batch, const std::string& input_file_id);
    /// Writes the state. Errors: io.
    Status save(const Batch& batch);
    /// Removes the folder of a finished batch.
    void remove(const Batch& batch);

    [[nodiscard]] std::filesystem::path input_of(const Batch& batch) const;

    /// Opens the outputs. A record without room sets Batch::is_out_of_room. Errors: those of
    /// ResultLog::open().
    Result<std::unique_ptr<ResultLog>> open_outputs(Batch& batch);

    /// Stores an output as a file of the owner. Returns its id; empty if it has no records. Can be repeated.
    /// Errors: io.
    Result<std::string> store_output(Batch& batch, Output output, int64_t now_s);

    /// Removes what only an unfinished batch needs: all but its state.
    void remove_work(Batch& batch);

    /// Bytes of all states, as Files counts them.
    [[nodiscard]] uint64_t states_bytes() const { return states_bytes_; }
    /// Returns the bytes that the state of a new batch counts.
    [[nodiscard]] static uint64_t state_bytes_of(const Batch& batch);

private:
    [[nodiscard]] std::filesystem::path folder_of(const Batch& batch) const { return folder_ / batch.id; }
    Result<SharedBatch> read_folder(const std::filesystem::path& folder);
    Status link_input(Batch& batch, const std::string& input_file_id);
    void hold_input(Batch& batch);
    void count_state(Batch& batch, uint64_t bytes);
    void count_work(Batch& batch);

    const std::filesystem::path folder_;
    Files* files_; ///< borrowed
    uint64_t states_bytes_ = 0;
};

} // namespace etna::server::batch
