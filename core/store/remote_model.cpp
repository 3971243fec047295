#include "core/store/remote_model.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::store {
namespace {

/// Reads ranges of files, up to remote_model_bytes_max in all.
class RangeReader {
public:
    explicit RangeReader(const PullOptions& options)
        : client_(options.download.http, options.download.is_stopped),
          hub_(options.hub, client_, options.download.retries, options.download.is_stopped) {}
    RangeReader(const RangeReader&) = delete;
    RangeReader& operator=(const RangeReader&) = delete;

    Status read(const std::string& url, uint64_t offset, MutableByteView into) {
        if (into.size() > left_bytes_) {
            return unsupported(fmt::format("{}: the header of the model has more than {} bytes",
                                           printable_url(url), remote_model_bytes_max),
                               "pull the model, and plan it then");
        }
        left_bytes_ -= into.size();
        return hub_.read(url, offset, into);
    }

private:
    HttpClient client_;
    Hub hub_; ///< borrows client_
    uint64_t left_bytes_ = remote_model_bytes_max;
};

} // namespace

Result<RemoteModel> open_remote(const ModelName& name, const PullOptions& options) {
    ETNA_TRY(PullPlan plan, plan_pull(name, options));
    const auto reader = std::make_shared<RangeReader>(options);
    std::vector<gguf::RangeSource> parts;
    for (const PullFile& file : plan.files) {
        parts.push_back({.name = file.path,
                         .bytes = file.download.bytes,
                         .read = [reader, url = file.download.url](uint64_t offset, MutableByteView into) {
                             return reader->read(url, offset, into);
                         }});
    }
    ETNA_TRY(gguf::File file, gguf::File::open(std::move(parts)));
    return RemoteModel{.plan = std::move(plan), .file = std::move(file)};
}

} // namespace etna::store
