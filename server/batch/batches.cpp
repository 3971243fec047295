#include "server/batch/batches.hpp"

#include "core/base/log.hpp"
#include "server/batch/durable_file.hpp"
#include "server/ids.hpp"
#include "server/persistence.hpp"
#include "server/service.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace etna::server::batch {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view state_name = "batch.json";
constexpr std::string_view input_name = "input.jsonl";
constexpr milliseconds queue_poll{200};
constexpr milliseconds line_poll{100};
constexpr int64_t retry_after_s = 30; ///< delay before a batch is retried after a failure of disk or model

const std::set<std::string, std::less<>> finished_states = {"failed", "completed", "expired", "cancelled"};

int64_t system_time_s() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

/// Returns hexadecimal digits: the bytes may be invalid UTF-8, which JSON cannot hold.
std::string hex_of(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes)
        text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    return text;
}

std::string bytes_of(std::string_view hex) {
    constexpr int base = 16;
    std::string bytes;
    for (std::size_t at = 0; at + 1 < hex.size(); at += 2) {
        unsigned value = 0;
        std::from_chars(hex.data() + at, hex.data() + at + 2, value, base);
        bytes += static_cast<char>(value);
    }
    return bytes;
}

/// Returns null if the member is missing: the file may be damaged.
Json member_of(const Json& object, const char* name) {
    return object.is_object() ? object.value(name, Json()) : Json();
}

std::string text_in(const Json& object, const char* name) {
    const Json value = member_of(object, name);
    return value.is_string() ? value.get<std::string>() : std::string();
}

int64_t number_in(const Json& object, const char* name) {
    const Json value = member_of(object, name);
    return value.is_number_integer() ? value.get<int64_t>() : 0;
}

/// {"input_tokens", "input_tokens_details", ...}.
Json usage_json(const TokenUsage& usage) {
    return {{"input_tokens", usage.input},
            {"input_tokens_details", {{"cached_tokens", usage.cached}}},
            {"output_tokens", usage.output},
            {"output_tokens_details", {{"reasoning_tokens", usage.reasoning}}},
            {"total_tokens", usage.input + usage.output}};
}

/// Returns OpenAI's batch object for a new batch. `model` is added once an answer names it.
Json new_object(const NewBatch& made, const std::string& id, int64_t now_s) {
    Json object = {{"id", id},
                   {"object", "batch"},
                   {"endpoint", made.endpoint},
                   {"errors", nullptr},
                   {"input_file_id", made.input.id},
                   {"completion_window", "24h"},
                   {"status", "validating"},
                   {"output_file_id", nullptr},
                   {"error_file_id", nullptr},
                   {"created_at", now_s},
                   {"in_progress_at", nullptr},
                   {"expires_at", now_s + completion_window_s}};
    for (const char* name :
         {"finalizing_at", "completed_at", "failed_at", "expired_at", "cancelling_at", "cancelled_at"})
        object[name] = nullptr;
    object["request_counts"] = {{"total", 0}, {"completed", 0}, {"failed", 0}};
    object["usage"] = usage_json({});
    object["metadata"] = made.metadata.is_object() && !made.metadata.empty() ? made.metadata : Json();
    return object;
}

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

Result<std::unique_ptr<ResultLog>> open_log(const std::filesystem::path& folder) {
    std::vector<std::string> warnings;
    ETNA_TRY(auto results, ResultLog::open(folder, {}, warnings));
    for (const std::string& warning : warnings)
        log(LogLevel::warning, warning);
    return results;
}

ApiError batches_failed(const Error& error) {
    log(LogLevel::warning, error.message);
    return {.status = 500,
            .message = "the batch could not be stored: " + strip_directories(error.message),
            .type = "server_error",
            .code = "store_failed"};
}

} // namespace

std::string Batches::Entry::status() const {
    return text_in(object, "status");
}

Batches::Batches(std::filesystem::path folder, const Options& options, Files::Clock clock)
    : folder_(std::move(folder)), options_(options), clock_(std::move(clock)),
      free_lines_(std::clamp<uint32_t>(options.lines_at_once, 1, lines_at_once_max)) {}

Result<std::unique_ptr<Batches>> Batches::open(const std::filesystem::path& folder, const Options& options,
                                               Files::Clock clock) {
    if (!clock)
        clock = system_time_s;
    std::error_code failure;
    std::filesystem::create_directories(folder / "batches", failure);
    if (failure)
        return Error{ErrorKind::io, fmt::format("cannot make {}: {}", folder.string(), failure.message())};
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, failure);
    std::unique_ptr<Batches> batches(new Batches(folder / "batches", options, clock));
    ETNA_TRY(batches->files_, Files::open(folder / "files", options.limits, clock));
    ETNA_CHECK(batches->read());
    return batches;
}

Batches::~Batches() {
    is_ending_ = true;
    changed_.notify_all();
    for (std::thread& thread : threads_)
        thread.join();
}

/// Reads the batches of the folder. A folder without a state was not created completely.
Status Batches::read() {
    std::error_code failure;
    std::filesystem::directory_iterator entries(folder_, failure);
    for (; !failure && entries != std::filesystem::directory_iterator(); entries.increment(failure)) {
        if (const Status status = read_batch(entries->path()); !status)
            log(LogLevel::warning, status.error().message);
    }
    if (failure)
        return Error{ErrorKind::io, fmt::format("cannot read {}: {}", folder_.string(), failure.message())};
    return {};
}

Status Batches::read_batch(const std::filesystem::path& folder) {
    std::error_code failure;
    if (!std::filesystem::exists(folder / state_name, failure)) {
        if (failure) {
            return Error{ErrorKind::io,
                         fmt::format("cannot read {}: {}", folder.string(), failure.message())};
        }
        std::filesystem::remove_all(folder, failure);
        return {};
    }
    std::ifstream stream(folder / state_name, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const Json state = parse_json(text);
    auto entry = std::make_shared<Entry>();
    entry->object = member_of(state, "object");
    entry->id = text_in(entry->object, "id");
    if (entry->id.empty() || entry->id != folder.filename()) {
        return Error{ErrorKind::corrupt,
                     fmt::format("{} is damaged, or cannot be read; its batch is not found",
                                 (folder / state_name).string())};
    }
    entry->owner = text_in(state, "owner");
    entry->output_file_id = text_in(state, "output_file_id");
    entry->error_file_id = text_in(state, "error_file_id");
    entry->ending = text_in(state, "ending");
    entry->output_lifetime_s = number_in(state, "output_lifetime_s");
    entry->client.remote_address = text_in(state, "remote_address");
    entry->client.remote_network = bytes_of(text_in(state, "remote_network"));
    const Json headers = member_of(state, "headers");
    for (const auto& [name, value] : headers.items()) {
        if (value.is_string())
            entry->client.headers[name] = value;
    }
    entry->is_cancelled = entry->status() == "cancelling";
    if (finished_states.contains(entry->status()))
        remove_work(*entry);
    entries_.emplace(entry->id, std::move(entry));
    return {};
}

/// Writes a batch to its folder. The mutex is held.
Status Batches::save(const Entry& entry) {
    Json headers = Json::object();
    for (const auto& [name, value] : entry.client.headers)
        headers[name] = value;
    const Json state = {{"object", entry.object},
                        {"owner", entry.owner},
                        {"output_file_id", entry.output_file_id},
                        {"error_file_id", entry.error_file_id},
                        {"ending", entry.ending},
                        {"output_lifetime_s", entry.output_lifetime_s},
                        {"remote_address", entry.client.remote_address},
                        {"remote_network", hex_of(entry.client.remote_network)},
                        {"headers", std::move(headers)}};
    return write_durable_file(folder_of(entry) / state_name, dump_json(state) + "\n");
}

Status Batches::set_status(Entry& entry, std::string_view status) {
    const int64_t now_s = clock_();
    const std::scoped_lock lock(mutex_);
    return write_status(entry, status, now_s);
}

/// Sets a status and its time. The batch is unchanged if it cannot be written. The mutex is held.
Status Batches::write_status(Entry& entry, std::string_view status, int64_t now_s) {
    const Json before = entry.object;
    entry.object["status"] = status;
    entry.object[fmt::format("{}_at", status)] = now_s;
    Status saved = save(entry);
    if (!saved)
        entry.object = before;
    return saved;
}

ApiResult<Json> Batches::create(const NewBatch& made) {
    const std::scoped_lock lock(mutex_);
    const auto unfinished = std::ranges::count_if(
        entries_, [](const auto& entry) { return !finished_states.contains(entry.second->status()); });
    if (static_cast<std::size_t>(unfinished) >= options_.limits.batches_max) {
        return ApiError{
            .status = 429,
            .message = fmt::format("{} batches are not finished; this server accepts no more", unfinished),
            .type = "rate_limit_exceeded",
            .code = "too_many_batches",
            .retry_after_s = retry_after_s};
    }
    remove_oldest_finished();
    auto entry = std::make_shared<Entry>();
    entry->id = new_id("batch_");
    entry->owner = made.input.owner;
    entry->object = new_object(made, entry->id, clock_());
    entry->output_file_id = new_id("file-");
    entry->error_file_id = new_id("file-");
    entry->output_lifetime_s = made.output_lifetime_s;
    entry->client.remote_address = made.client.remote_address;
    entry->client.remote_network = made.client.remote_network;
    entry->client.headers = made.client.headers;
    std::error_code failure;
    std::filesystem::create_directory(folder_of(*entry), failure);
    if (failure)
        return batches_failed({ErrorKind::io, failure.message()});
    // A hard link, so that the client may delete the input.
    Status status = link_file(files_->path_of(made.input.id), folder_of(*entry) / input_name);
    if (status)
        status = save(*entry);
    if (!status) {
        std::filesystem::remove_all(folder_of(*entry), failure);
        return batches_failed(status.error());
    }
    sync_folder(folder_);
    entries_.emplace(entry->id, entry);
    changed_.notify_all();
    return entry->object;
}

/// Makes room for one more finished batch: removes the oldest at the limit. The mutex is held.
void Batches::remove_oldest_finished() {
    std::vector<Shared> finished;
    for (const auto& [id, entry] : entries_) {
        if (finished_states.contains(entry->status()) && !entry->is_taken)
            finished.push_back(entry);
    }
    if (finished.size() < finished_batches_max)
        return;
    const auto oldest = std::ranges::min_element(
        finished, {}, [](const Shared& entry) { return number_in(entry->object, "created_at"); });
    std::error_code ignored;
    std::filesystem::remove_all(folder_of(**oldest), ignored);
    entries_.erase((*oldest)->id);
}

/// Null if the owner has no such batch. The mutex is held.
Batches::Shared Batches::owned(const storage::Owner& owner, const std::string& id) {
    const auto found = entries_.find(id);
    return found != entries_.end() && found->second->owner == owner ? found->second : nullptr;
}

std::optional<Json> Batches::find(const storage::Owner& owner, const std::string& id) {
    const std::scoped_lock lock(mutex_);
    const Shared entry = owned(owner, id);
    return entry == nullptr ? std::nullopt : std::optional(entry->object);
}

std::vector<Json> Batches::list(const storage::Owner& owner) {
    const std::scoped_lock lock(mutex_);
    std::vector<Json> objects;
    for (const auto& [id, entry] : entries_) {
        if (entry->owner == owner)
            objects.push_back(entry->object);
    }
    std::ranges::sort(objects, {}, [](const Json& object) {
        return std::pair(number_in(object, "created_at"), text_in(object, "id"));
    });
    return objects;
}

ApiResult<Json> Batches::cancel(const storage::Owner& owner, const std::string& id) {
    const int64_t now_s = clock_();
    const std::scoped_lock lock(mutex_);
    const Shared entry = owned(owner, id);
    if (entry == nullptr) {
        return ApiError{.status = 404,
                        .message = fmt::format("there is no batch `{}`", id),
                        .param = "batch_id",
                        .code = "batch_not_found"};
    }
    const std::string status = entry->status();
    if (status == "cancelling")
        return entry->object;
    if (finished_states.contains(status) || status == "finalizing") {
        return ApiError{.status = 409,
                        .message = fmt::format("the batch `{}` is {}, and cannot be cancelled", id, status),
                        .code = "batch_not_cancellable"};
    }
    entry->is_cancelled = true; // even if the change cannot be written
    if (const Status saved = write_status(*entry, "cancelling", now_s); !saved)
        return batches_failed(saved.error());
    changed_.notify_all();
    return entry->object;
}

void Batches::start(const Service& service, AnswerRequest answer) {
    service_ = &service;
    answer_ = std::move(answer);
    const std::scoped_lock lock(mutex_);
    for (std::size_t number = 0; number < batches_at_once; ++number) {
        threads_.emplace_back([this] { work(); });
        ++working_;
    }
}

bool Batches::wait(milliseconds limit) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::max(limit, milliseconds(0)), [&] { return working_ == 0; });
}

bool Batches::is_stopping() const {
    return is_ending_ || service_->is_aborting || service_->state == ServiceState::draining;
}

/// Returns the request head for a batch's lines, with its owner's key or its client's address. Empty if the
/// key was removed from the server.
std::optional<HttpRequest> Batches::head_for(const Entry& entry) const {
    HttpRequest head = entry.client;
    head.priority = line_priority;
    const std::vector<std::string>& keys = service_->options.access.api_keys;
    if (keys.empty())
        return entry.owner.empty() ? std::optional(std::move(head)) : std::nullopt;
    for (const std::string& key : keys) {
        HttpRequest keyed = {.headers = {{"authorization", "Bearer " + key}}, .priority = line_priority};
        if (owner_of(service_->options.access, keyed) == entry.owner)
            return keyed;
    }
    return std::nullopt;
}

bool Batches::is_runnable(const Entry& entry) const {
    const bool has_expired = number_in(entry.object, "expires_at") <= clock_();
    return !entry.is_taken && !finished_states.contains(entry.status()) && entry.retry_at_s <= clock_() &&
           (has_expired || head_for(entry).has_value());
}

/// Waits for a batch and claims it: the oldest batch of the owner with the fewest running ones. Null when the
/// server stops.
Batches::Shared Batches::take() {
    std::unique_lock lock(mutex_);
    while (!is_stopping()) {
        std::map<storage::Owner, int> running;
        for (const auto& [id, entry] : entries_)
            running[entry->owner] += entry->is_taken ? 1 : 0;
        Shared best;
        const auto rank = [&](const Shared& entry) {
            return std::tuple(running[entry->owner], number_in(entry->object, "created_at"), entry->id);
        };
        for (const auto& [id, entry] : entries_) {
            if (is_runnable(*entry) && (best == nullptr || rank(entry) < rank(best)))
                best = entry;
        }
        if (best != nullptr) {
            best->is_taken = true;
            return best;
        }
        changed_.wait_for(lock, queue_poll);
    }
    return nullptr;
}

/// The thread function: runs batches until the server stops.
void Batches::work() {
    while (const Shared entry = take()) {
        Status status;
        try {
            status = run(*entry);
        } catch (const std::exception& failure) { // memory ran out
            status = Error{ErrorKind::out_of_memory, failure.what()};
        }
        if (!status) {
            log(LogLevel::warning, fmt::format("batch {}: {}; trying again in {} s", entry->id,
                                               status.error().message, retry_after_s));
        }
        const std::scoped_lock lock(mutex_);
        entry->is_taken = false;
        entry->retry_at_s = status ? 0 : clock_() + retry_after_s;
    }
    const std::scoped_lock lock(mutex_);
    --working_;
    changed_.notify_all();
}

/// Runs a batch until it ends or the server stops. Errors: io and others; the batch can be retried.
Status Batches::run(Entry& entry) {
    std::string ending;
    std::string status;
    {
        const std::scoped_lock lock(mutex_);
        status = entry.status();
        ending = entry.ending;
    }
    if (status == "finalizing") // its outputs are complete
        return finish(entry, ending);
    if (status == "validating")
        ETNA_CHECK(begin(entry));
    {
        const std::scoped_lock lock(mutex_);
        if (finished_states.contains(entry.status()))
            return {};
    }
    ETNA_TRY(ending, settle(entry));
    return ending.empty() ? Status() : finish(entry, ending);
}

/// Counts the lines and starts the batch, or fails it if its input is invalid.
Status Batches::begin(Entry& entry) {
    const auto summary = summarize_input(folder_of(entry) / input_name, {});
    if (!summary && summary.error().kind == ErrorKind::io)
        return summary.error(); // the next try may be able to read it
    if (!summary)
        return fail(entry, "invalid_input_file", strip_directories(summary.error().message));
    if (summary->lines == 0)
        return fail(entry, "empty_file", "the input file has no lines");
    const int64_t now_s = clock_();
    const std::scoped_lock lock(mutex_); // a cancel() comes before or after
    entry.object["request_counts"]["total"] = summary->lines;
    return entry.is_cancelled ? Status() : write_status(entry, "in_progress", now_s);
}

/// Answers the lines. Returns the status to end with; empty if the server stops.
Result<std::string> Batches::settle(Entry& entry) {
    ETNA_TRY(auto results, open_log(folder_of(entry)));
    count(entry, *results);
    Job job = {.input = folder_of(entry) / input_name,
               .line_bytes_max = options_.line_bytes_max,
               .lines_at_once = options_.lines_at_once};
    int64_t expires_s = 0;
    {
        const std::scoped_lock lock(mutex_);
        job.endpoint = text_in(entry.object, "endpoint");
        job.request = head_for(entry).value_or(HttpRequest());
        expires_s = number_in(entry.object, "expires_at");
    }
    const auto has_expired = [&] { return clock_() >= expires_s; };
    if (!entry.is_cancelled && !has_expired()) {
        Runner runner(job, *results, [this](const HttpRequest& request) { return answer(request); });
        ETNA_TRY(const Ending ending, runner.run([&] {
            count(entry, *results);
            if (is_ending_ || service_->is_aborting || entry.is_cancelled || has_expired())
                return Pace::abandon;
            return is_stopping() ? Pace::finish : Pace::full;
        }));
        count(entry, *results);
        if (ending == Ending::complete)
            return std::string("completed");
    }
    if (entry.is_cancelled)
        return std::string("cancelled");
    if (!has_expired())
        return std::string();
    results = nullptr; // closed, so that the log opened next contains the records of this run
    ETNA_TRY(results, open_log(folder_of(entry)));
    ETNA_CHECK(expire(entry, *results, job));
    return std::string("expired");
}

/// Records an error for each line without a record at the time the log was opened.
Status Batches::expire(Entry& entry, ResultLog& log, const Job& job) {
    Job rest = job;
    rest.lines_at_once = 1;
    rest.verdict = LineError{.code = "batch_expired",
                             .message = "this request could not be answered before the batch expired"};
    Runner runner(std::move(rest), log, [](const HttpRequest&) { return HttpReply{}; });
    const auto ending = runner.run([] { return Pace::full; });
    count(entry, log);
    return ending ? Status() : Status(ending.error());
}

/// Stores the outputs as files and ends the batch. Can be repeated after a kill.
Status Batches::finish(Entry& entry, const std::string& ending) {
    {
        const std::scoped_lock lock(mutex_);
        entry.ending = ending;
    }
    ETNA_CHECK(set_status(entry, "finalizing"));
    for (const Output output : {Output::results, Output::errors})
        ETNA_CHECK(store_output(entry, output));
    ETNA_CHECK(set_status(entry, ending));
    remove_work(entry);
    return {};
}

/// Removes the files that only an unfinished batch needs.
void Batches::remove_work(const Entry& entry) {
    std::error_code ignored;
    std::filesystem::remove(folder_of(entry) / input_name, ignored);
    for (const Output output : {Output::results, Output::errors}) {
        const std::filesystem::path path = output_path(folder_of(entry), output, {});
        std::filesystem::remove(path, ignored);
        std::filesystem::remove(path.string() + ".lock", ignored);
    }
}

/// Stores an output as a file of the owner, if it has records.
Status Batches::store_output(Entry& entry, Output output) {
    const bool is_results = output == Output::results;
    const std::filesystem::path path = output_path(folder_of(entry), output, {});
    std::error_code failure;
    const auto bytes = std::filesystem::file_size(path, failure);
    if (failure || bytes == 0)
        return {};
    const int64_t now_s = clock_();
    ETNA_TRY(const StoredFile file,
             files_->adopt({.id = is_results ? entry.output_file_id : entry.error_file_id,
                            .owner = entry.owner,
                            .name = fmt::format("{}_{}.jsonl", entry.id, is_results ? "output" : "error"),
                            .purpose = "batch_output",
                            .created_s = now_s,
                            .expires_s = now_s + entry.output_lifetime_s},
                           path));
    const std::scoped_lock lock(mutex_);
    entry.object[is_results ? "output_file_id" : "error_file_id"] = file.id;
    return {};
}

/// Ends a batch that cannot be run.
Status Batches::fail(Entry& entry, std::string_view code, const std::string& message) {
    {
        const std::scoped_lock lock(mutex_);
        Json error = {{"code", code}, {"message", message}, {"param", nullptr}, {"line", nullptr}};
        entry.object["errors"] = {{"object", "list"}, {"data", Json::array({std::move(error)})}};
    }
    ETNA_CHECK(set_status(entry, "failed"));
    remove_work(entry);
    return {};
}

void Batches::count(Entry& entry, const ResultLog& log) {
    const uint64_t results = log.records(Output::results);
    const uint64_t errors = log.records(Output::errors);
    const RecordTotals totals = log.totals();
    const std::scoped_lock lock(mutex_);
    entry.object["usage"] = usage_json(totals.usage);
    if (totals.has_several_models) {
        entry.object.erase("model");
    } else if (!totals.model.empty()) {
        entry.object["model"] = totals.model;
    }
    entry.object["request_counts"]["completed"] = results;
    entry.object["request_counts"]["failed"] = errors;
}

/// Answers a line once it gets one of the `lines_at_once` that all batches share.
HttpReply Batches::answer(const HttpRequest& request) {
    while (!free_lines_.try_acquire_for(line_poll)) {
        if (request.is_client_gone() || is_stopping())
            return {.status = client_closed_status};
    }
    struct Release {
        std::counting_semaphore<lines_at_once_max>& lines;
        ~Release() { lines.release(); }
    } const release{free_lines_};
    return answer_(request);
}

} // namespace etna::server::batch
