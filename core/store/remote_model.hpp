#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "core/store/pull.hpp"

#include <cstdint>

namespace etna::store {

/// The header of a model that is not downloaded, and the plan of its download.
struct RemoteModel {
    PullPlan plan;
    gguf::File file; ///< reads tensors from the server; for one thread
};

constexpr uint64_t remote_model_bytes_max = 128 * mebibyte; ///< read of one model, of all its parts together

/// Reads metadata and tensor directory of a remote model by ranges: some MiB of its first part, most of them
/// the vocabulary, and little of the others. Blocks. Errors: those of plan_pull() and gguf::File::open();
/// unsupported (the server sends no ranges, or the header exceeds remote_model_bytes_max).
Result<RemoteModel> open_remote(const ModelName& name, const PullOptions& options);

} // namespace etna::store
