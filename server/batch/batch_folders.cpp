#include "server/batch/batch_folders.hpp"

#include "core/base/log.hpp"
#include "server/batch/durable_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

namespace etna::server::batch {
namespace {

constexpr std::string_view state_name = "batch.json";
constexpr std::string_view input_name = "input.jsonl";

/// Counted for the growth of a batch's state, and for the descriptions of its outputs.
constexpr uint64_t state_growth_bytes = 2048;

/// Hard-links a file; copies it if the file system has no hard links.
Status link_file(const std::filesystem::path& from, const std::filesystem::path& to) {
    if (::link(from.c_str(), to.c_str()) == 0 || errno == EEXIST)
        return {};
    std::error_code failure;
    std::filesystem::copy_file(from, to, failure);
    if (failure)
        return Error{ErrorKind::io, fmt::format("cannot copy {}: {}", from.string(), failure.message())};
    return {};
}

/// 0 if it cannot be read.
uint64_t size_of(const std::filesystem::path& path) {
    std::error_code failure;
    const auto bytes = std::filesystem::file_size(path, failure);
    return failure ? 0 : bytes;
}

/// Whether the content has another name, too.
bool is_link(const std::filesystem::path& path) {
    std::error_code failure;
    return std::filesystem::hard_link_count(path, failure) > 1 && !failure;
}

/// Returns the files of a folder; none if it cannot be read.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
    std::error_code failure;
    std::vector<std::filesystem::path> files;
    std::filesystem::directory_iterator entries(folder, failure);
    for (; !failure && entries != std::filesystem::directory_iterator(); entries.increment(failure))
        files.push_back(entries->path());
    return files;
}

} // namespace

std::filesystem::path BatchFolders::input_of(const Batch& batch) const {
    return folder_of(batch) / input_name;
}

uint64_t BatchFolders::state_bytes_of(const Batch& batch) {
    return state_text(batch).size() + state_growth_bytes;
}

Result<std::vector<SharedBatch>> BatchFolders::read() {
    std::vector<SharedBatch> batches;
    std::error_code failure;
    std::filesystem::directory_iterator entries(folder_, failure);
    for (; !failure && entries != std::filesystem::directory_iterator(); entries.increment(failure)) {
        const std::filesystem::path folder = entries->path();
        const auto batch = read_folder(folder);
        if (batch && *batch != nullptr)
            batches.push_back(*batch);
        if (!batch) {
            log(LogLevel::warning, batch.error().message);
            for (const std::filesystem::path& file : files_in(folder)) // which stay on the disk
                files_->count_found({}, size_of(file));
        }
    }
    if (failure)
        return Error{ErrorKind::io, fmt::format("cannot read {}: {}", folder_.string(), failure.message())};
    return batches;
}

/// Null: the batch was not created completely, and is removed.
Result<SharedBatch> BatchFolders::read_folder(const std::filesystem::path& folder) {
    std::error_code failure;
    const std::filesystem::path path = folder / state_name;
    if (!std::filesystem::exists(path, failure)) {
        if (failure) {
            return Error{ErrorKind::io,
                         fmt::format("cannot read {}: {}", folder.string(), failure.message())};
        }
        std::filesystem::remove_all(folder, failure);
        return SharedBatch();
    }
    std::ifstream stream(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    SharedBatch batch = read_state(text);
    if (batch == nullptr || batch->id != folder.filename()) {
        return Error{ErrorKind::corrupt,
                     fmt::format("{} is damaged, or cannot be read; its batch is not found", path.string())};
    }
    count_state(*batch, text.size() + state_growth_bytes);
    if (batch->is_finished) {
        remove_work(*batch);
    } else {
        count_work(*batch);
    }
    return batch;
}

void BatchFolders::count_state(Batch& batch, uint64_t bytes) {
    batch.state_bytes = bytes;
    states_bytes_ += bytes;
    files_->count_found(batch.owner, bytes);
}

/// Counts the input and the outputs of an unfinished batch that was read, damaged copies of them included.
void BatchFolders::count_work(Batch& batch) {
    hold_input(batch);
    const std::filesystem::path results = output_path(folder_of(batch), Output::results, {});
    const std::filesystem::path errors = output_path(folder_of(batch), Output::errors, {});
    for (const std::filesystem::path& file : files_in(folder_of(batch))) {
        const bool is_adopted = (file == results && files_->find(batch.owner, batch.output_file_id)) ||
                                (file == errors && files_->find(batch.owner, batch.error_file_id));
        if (!is_adopted && file.filename() != state_name && file.filename() != input_name)
            batch.bytes_of(file == results ? Output::results : Output::errors) += size_of(file);
    }
    files_->count_found(batch.owner, batch.bytes_of(Output::results) + batch.bytes_of(Output::errors));
}

/// Counts the input, which usually is a link to the file that the client uploaded.
void BatchFolders::hold_input(Batch& batch) {
    const std::filesystem::path input = input_of(batch);
    batch.input_name = is_link(input) ? batch.input_file_id() : batch.id;
    files_->hold_input(batch.input_name, batch.owner, size_of(input));
}

Status BatchFolders::create(Batch& batch, const std::string& input_file_id) {
    const uint64_t bytes = state_bytes_of(batch);
    ETNA_CHECK(files_->charge_now(batch.owner, bytes));
    files_->discharge(batch.owner, bytes);
    count_state(batch, bytes);
    Status status = link_input(batch, input_file_id);
    if (status)
        status = save(batch);
    if (!status) {
        files_->release_input(batch.input_name);
        remove(batch);
        return status;
    }
    sync_folder(folder_);
    return {};
}

/// Links the input, so that the client may delete its file.
Status BatchFolders::link_input(Batch& batch, const std::string& input_file_id) {
    std::error_code failure;
    std::filesystem::create_directory(folder_of(batch), failure);
    if (failure)
        return Error{ErrorKind::io, failure.message()};
    const std::filesystem::path input = input_of(batch);
    ETNA_CHECK(link_file(files_->path_of(input_file_id), input));
    if (!is_link(input)) {
        ETNA_CHECK(files_->charge_now(batch.owner, size_of(input)));
        files_->discharge(batch.owner, size_of(input)); // counted by the next line
    }
    hold_input(batch);
    return {};
}

Status BatchFolders::save(const Batch& batch) {
    return write_durable_file(folder_of(batch) / state_name, state_text(batch));
}

void BatchFolders::remove(const Batch& batch) {
    std::error_code ignored;
    std::filesystem::remove_all(folder_of(batch), ignored);
    files_->discharge(batch.owner, batch.state_bytes);
    states_bytes_ -= batch.state_bytes;
}

Result<std::unique_ptr<ResultLog>> BatchFolders::open_outputs(Batch& batch) {
    std::vector<std::string> warnings;
    ETNA_TRY(auto results, ResultLog::open(folder_of(batch), {}, warnings));
    for (const std::string& warning : warnings)
        log(LogLevel::warning, warning);
    results->set_quota([this, &batch](Output output, uint64_t bytes) {
        Status charged = files_->charge(batch.owner, bytes);
        if (charged) {
            batch.bytes_of(output) += bytes;
        } else {
            batch.is_out_of_room = true;
        }
        return charged;
    });
    return results;
}

Result<std::string> BatchFolders::store_output(Batch& batch, Output output, int64_t now_s) {
    const bool is_results = output == Output::results;
    const std::filesystem::path path = output_path(folder_of(batch), output, {});
    const uint64_t bytes = size_of(path);
    if (bytes == 0)
        return std::string();
    const uint64_t charged = std::min<uint64_t>(batch.bytes_of(output), bytes);
    ETNA_TRY(const StoredFile file,
             files_->adopt({.id = is_results ? batch.output_file_id : batch.error_file_id,
                            .owner = batch.owner,
                            .name = fmt::format("{}_{}.jsonl", batch.id, is_results ? "output" : "error"),
                            .purpose = "batch_output",
                            .created_s = now_s,
                            .expires_s = now_s + batch.output_lifetime_s},
                           path, charged));
    batch.bytes_of(output) -= charged;
    return file.id;
}

void BatchFolders::remove_work(Batch& batch) {
    std::error_code ignored;
    for (const std::filesystem::path& file : files_in(folder_of(batch))) {
        if (file.filename() != state_name)
            std::filesystem::remove_all(file, ignored);
    }
    files_->release_input(std::exchange(batch.input_name, {}));
    for (std::atomic<uint64_t>& bytes : batch.output_bytes)
        files_->discharge(batch.owner, bytes.exchange(0));
}

} // namespace etna::server::batch
