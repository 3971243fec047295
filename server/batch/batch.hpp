#pragma once

#include "server/base/json.hpp"
#include "server/batch/files.hpp"
#include "server/batch/result_log.hpp"
#include "server/batch/runner.hpp"
#include "server/http/http.hpp"
#include "server/storage/store.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace etna::server::batch {

/// Time limit of a batch: the only completion_window that is accepted.
constexpr int64_t completion_window_s = 24 * 3600;

/// A batch that a client creates.
struct NewBatch {
    StoredFile input = {};
    std::string endpoint = {};
    Json metadata = {};
    int64_t output_lifetime_s = default_file_lifetime_s;
    HttpRequest client = {}; ///< only the client's address is used
};

/// A batch of a client. Batches::mutex_ guards every member except the atomics.
struct Batch {
    std::string id = {};
    storage::Owner owner = {};
    Json object = {}; ///< as returned to clients
    HttpRequest client = {};
    std::string output_file_id = {}, error_file_id = {}; ///< once they exist
    std::string ending = {};                             ///< its status after finalizing
    int64_t output_lifetime_s = default_file_lifetime_s;
    bool is_finished = false; ///< its status is final

    std::string input_name = {};                         ///< see Files::hold_input()
    uint64_t state_bytes = 0;                            ///< counted by Files
    std::array<std::atomic<uint64_t>, 2> output_bytes{}; ///< counted by Files, by Output

    uint32_t running = 0;                    ///< steps in progress
    bool is_exclusive = false;               ///< the step in progress has the batch for itself
    bool is_drained = false;                 ///< no line is left to start
    uint64_t turn = 0;                       ///< of its last step, see BatchQueue
    int64_t retry_at_s = 0;                  ///< since 1970, after a failure
    std::unique_ptr<ResultLog> results = {}; ///< while the batch is open
    std::unique_ptr<Runner> runner = {};     ///< the same; null: no line is to be answered

    std::atomic<bool> is_cancelled{false};
    std::atomic<bool> is_out_of_room{false}; ///< its outputs may not grow: it ends

    [[nodiscard]] std::string status() const;
    [[nodiscard]] std::string endpoint() const;
    [[nodiscard]] std::string input_file_id() const;
    [[nodiscard]] int64_t created_s() const;
    [[nodiscard]] int64_t expires_s() const;
    [[nodiscard]] bool is_open() const { return results != nullptr; }
    [[nodiscard]] std::atomic<uint64_t>& bytes_of(Output output) {
        return output_bytes[static_cast<std::size_t>(output)];
    }

    /// Sets a status and its time.
    void set_status(std::string_view status, int64_t now_s);
    /// Sets why the batch fails.
    void set_error(std::string_view code, const std::string& message);
    /// Sets the counts of an open batch.
    void set_progress();
};

/// Whether a batch with this status has ended.
bool is_final(std::string_view status);

/// Whether the first is older.
bool is_older(const Batch& a, const Batch& b);

std::shared_ptr<Batch> new_batch(const NewBatch& request, int64_t now_s);

/// Returns the stored form of a batch.
std::string state_text(const Batch& batch);

/// Reads the stored form. Null: it is damaged.
std::shared_ptr<Batch> read_state(std::string_view text);

} // namespace etna::server::batch
