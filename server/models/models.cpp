#include "server/models/models.hpp"

#include "core/base/log.hpp"
#include "core/generate/generation.hpp"
#include "server/models/load_errors.hpp"
#include "server/models/model_sources.hpp"

#include <algorithm>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace etna::server {
namespace {

/// Minimum time between rescans of the files.
constexpr std::chrono::seconds scan_interval{1};
/// Queueing time after which requests for the model to be evicted have to queue, too.
constexpr std::chrono::seconds queue_grace{2};
/// Bounds of the interval between searches for idle models, which is a tenth of the shortest idle_max.
constexpr std::chrono::milliseconds watch_interval_min{5};
constexpr std::chrono::milliseconds watch_interval_max{1000};
constexpr std::chrono::hours no_watch_interval{1}; ///< while no model can become idle for long
constexpr int watches_per_idle_max = 10;
/// Files that are inspected at a time.
constexpr unsigned inspections_max = 4;

Result<Models::Handle> load_or_fail(const Models::Loader& loader, const store::ModelSource& source,
                                    uint64_t memory_bytes_max) {
    try {
        return loader(source, memory_bytes_max);
    } catch (const std::bad_alloc&) {
        return Error{ErrorKind::out_of_memory, "out of memory for the model"};
    } catch (const std::system_error& error) {
        return no_loading_thread(error);
    }
}

Result<ModelFacts> inspect_or_fail(const Models::Inspector& inspector, const store::ModelSource& source) {
    try {
        return inspector(source);
    } catch (const std::bad_alloc&) {
        return Error{ErrorKind::out_of_memory, "out of memory to read the model's file"};
    }
}

} // namespace

Models::Models(Options options, Loader loader, Inspector inspector)
    : options_(std::move(options)), loader_(std::move(loader)), inspector_(std::move(inspector)),
      sources_(options_.named, options_.folder), unload_rules_(options_.quiet_time) {}

Models::~Models() {
    {
        const std::scoped_lock lock(mutex_);
        is_ending_ = true;
    }
    idle_max_changed_.notify_all();
    if (watcher_.joinable())
        watcher_.join();
    for (const auto& [name, entry] : entries_)
        retired_.push_back(entry);
    for (const auto& entry : retired_) {
        if (entry->load_thread.joinable())
            entry->load_thread.join();
    }
}

std::vector<ModelListing> Models::list() {
    std::vector<ModelListing> usable = list_all();
    std::erase_if(usable, [](const ModelListing& model) { return model.problem.has_value(); });
    return usable;
}

std::vector<ModelListing> Models::list_all() {
    const std::scoped_lock lock(mutex_);
    rescan();
    std::vector<ModelListing> listings;
    for (const auto& [name, entry] : entries_)
        listings.push_back(listing(name, *entry));
    return listings;
}

std::vector<EngineReading> Models::engine_readings() {
    const std::scoped_lock lock(mutex_);
    std::vector<EngineReading> readings;
    for (const auto& [name, entry] : entries_) {
        if (const Handle model = model_in_memory(*entry))
            readings.push_back({.model = name, .stats = model->engine().load()});
    }
    return readings;
}

void Models::inspect(const CancelPoll& is_cancelled) {
    std::vector<std::shared_ptr<Entry>> unknown;
    {
        const std::scoped_lock lock(mutex_);
        rescan();
        for (const auto& [name, entry] : entries_) {
            if (inspector_ && !entry->facts && !entry->problem)
                unknown.push_back(entry);
        }
    }
    std::size_t next = 0; // guarded by mutex_
    const auto work = [&] {
        std::unique_lock lock(mutex_);
        while (next < unknown.size() && !(is_cancelled && is_cancelled()))
            inspect_one(*unknown[next++], lock);
    };
    const std::size_t threads_max = std::clamp(std::thread::hardware_concurrency(), 1U, inspections_max);
    std::vector<std::thread> threads; // besides this one
    while (threads.size() + 1 < std::min(threads_max, unknown.size())) {
        try {
            threads.emplace_back(work);
        } catch (const std::system_error&) { // the others do its part
            break;
        }
    }
    work();
    for (std::thread& thread : threads)
        thread.join();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { // for other calls, which inspect some of them
        return std::ranges::none_of(unknown, [](const auto& entry) { return entry->is_inspected_now; });
    });
}

/// Inspects a file, unless another call does or did. Releases the lock during that time.
void Models::inspect_one(Entry& entry, std::unique_lock<std::mutex>& lock) {
    if (entry.is_inspected_now || entry.facts || entry.problem)
        return;
    entry.is_inspected_now = true;
    lock.unlock();
    const auto facts = inspect_or_fail(inspector_, entry.listed.source);
    lock.lock();
    entry.is_inspected_now = false;
    if (facts) {
        record_facts(entry, *facts);
    } else {
        (void)record_failure(entry, facts.error());
    }
    changed_.notify_all();
}

std::string Models::default_name() {
    const std::scoped_lock lock(mutex_);
    if (!options_.named.empty())
        return options_.named.front().name;
    rescan();
    const auto usable = std::find_if(entries_.begin(), entries_.end(), [](const auto& item) {
        return !item.second->problem && !item.second->is_requested;
    });
    if (usable != entries_.end())
        return usable->first;
    return entries_.empty() ? std::string() : entries_.begin()->first;
}

std::optional<ModelListing> Models::find(std::string_view name) {
    const std::scoped_lock lock(mutex_);
    rescan();
    const auto* const found = find_entry(name);
    return found == nullptr ? std::nullopt : std::optional(listing(found->first, *found->second));
}

Models::Handle Models::find_loaded(std::string_view name) {
    const std::scoped_lock lock(mutex_);
    const auto* const found = find_entry(name);
    return found == nullptr ? nullptr : model_in_memory(*found->second);
}

Result<ModelListing> Models::find_or_add(std::string_view name) {
    const std::scoped_lock lock(mutex_);
    rescan();
    if (const auto* const found = find_entry(name))
        return listing(found->first, *found->second);
    if (!options_.finder)
        return Error{ErrorKind::not_found, fmt::format("the model `{}` does not exist", name)};
    ETNA_TRY(const store::ModelSource source, options_.finder(name));
    const auto path_of =
        [&](const Entry& entry) { // a requested model may have been fetched since it was added
            const std::filesystem::path& listed = entry.listed.source.path;
            if (!listed.empty() || !entry.is_requested)
                return listed;
            const auto now = options_.finder(entry.name);
            return now ? now->path : listed;
        };
    const auto is_same = [&](const Entries::value_type& item) {
        return item.first == source.name || (!source.path.empty() && path_of(*item.second) == source.path &&
                                             item.second->listed.source.options == source.options);
    };
    auto found = std::ranges::find_if(entries_, is_same);
    if (found == entries_.end()) {
        add_requested(source);
        found = entries_.find(source.name);
    }
    return listing(found->first, *found->second);
}

/// Adds a model. At requested_max, evicts the oldest ones that are neither loaded nor waited for.
void Models::add_requested(const store::ModelSource& source) {
    const auto is_unused = [&](const std::string& name) {
        const auto found = entries_.find(name);
        return found == entries_.end() ||
               (found->second->state == State::unloaded && found->second->waiters.empty());
    };
    while (requested_.size() >= requested_max) {
        const auto unused = std::ranges::find_if(requested_, is_unused);
        if (unused == requested_.end())
            break;
        drop_requested(std::string(*unused));
    }
    sources_.add({.name = source.name, .source = source});
    requested_.push_back(source.name);
    const auto entry = std::make_shared<Entry>(
        Entry{.name = source.name, .listed = sources_.listed(source), .is_requested = true});
    entries_.emplace(source.name, entry);
}

/// Lists a requested model again that has left the list, because another request's load of it failed.
/// Errors: not_found, and those of the finder.
Status Models::add_again(std::string_view name) {
    Error unknown = {ErrorKind::not_found, fmt::format("the model `{}` does not exist", name)};
    if (!options_.finder)
        return unknown;
    ETNA_TRY(const store::ModelSource source, options_.finder(name));
    if (source.name != name)
        return unknown;
    add_requested(source);
    return {};
}

void Models::drop_requested(const std::string& name) {
    std::erase(requested_, name);
    sources_.remove(name);
    if (const auto found = entries_.find(name); found != entries_.end()) {
        retire(found->second);
        entries_.erase(found);
    }
}

/// Null: not found.
const Models::Entries::value_type* Models::find_entry(std::string_view name) const {
    if (const auto found = entries_.find(name); found != entries_.end())
        return &*found;
    const std::string normalized = normalized_name(name);
    const Entries::value_type* similar = nullptr;
    for (const auto& item : entries_) {
        const auto& aliases = item.second->listed.aliases;
        if (std::find(aliases.begin(), aliases.end(), name) != aliases.end())
            return &item;
        const bool is_similar = normalized_name(item.first) == normalized ||
                                std::any_of(aliases.begin(), aliases.end(), [&](const std::string& alias) {
                                    return normalized_name(alias) == normalized;
                                });
        if (is_similar && similar == nullptr)
            similar = &item;
    }
    return similar;
}

Result<Models::Handle> Models::acquire(std::string_view name, const CancelPoll& is_cancelled,
                                       std::optional<uint64_t> client) {
    std::unique_lock lock(mutex_);
    rescan();
    if (!entries_.contains(name))
        ETNA_CHECK(add_again(name));
    const std::shared_ptr<Entry> entry = entries_.find(name)->second; // may leave the list during the wait
    entry->users->begin_request(client);
    start_queued_loads();
    const bool waits = must_wait(*entry);
    if (!waits)
        entry->last_used = Clock::now();
    if (Handle model = model_in_memory(*entry); model && !waits)
        return entry->users->hold(std::move(model), client);
    Waiter waiter;
    entry->waiters.push_back(&waiter);
    queue(entry);
    while (true) {
        start_queued_loads();
        if (waiter.model)
            return entry->users->hold(std::move(waiter.model), client);
        if (waiter.failure)
            return *waiter.failure;
        changed_.wait_for(lock, generate::cancel_poll_interval);
        if (!waiter.model && is_cancelled && is_cancelled()) {
            std::erase(entry->waiters, &waiter);
            return Error{ErrorKind::cancelled, "the request was cancelled"};
        }
    }
}

Result<Unloading, UnloadRefusal> Models::unload(std::string_view name, std::optional<uint64_t> client) {
    std::unique_lock lock(mutex_);
    rescan();
    const auto* const found = find_entry(name);
    if (found == nullptr)
        return refusal_of(UnloadProblem::unknown_model, std::string(name));
    Entry& entry = *found->second;
    if (entry.state == State::loading)
        return refusal_of(UnloadProblem::loading, found->first);
    if (!entry.model)
        return entry.leaving.expired() ? Unloading::not_loaded : Unloading::after_requests;
    if (is_pinned(entry))
        return refusal_of(UnloadProblem::pinned, found->first);
    if (auto refusal = unload_rules_.take(found->first, *entry.users, client))
        return std::move(*refusal);
    Handle model = std::exchange(entry.model, nullptr);
    entry.state = State::unloaded;
    if (model.use_count() == 1) {
        release({std::move(model)}, lock);
        return Unloading::done;
    }
    entry.leaving = model;
    retired_models_.push_back(model);
    return Unloading::after_requests;
}

/// Returns the model, also if it is to be unloaded and a request still holds it; otherwise null.
Models::Handle Models::model_in_memory(const Entry& entry) {
    return entry.model ? entry.model : entry.leaving.lock();
}

/// Cancels the unload() of a model whose last request has not ended.
void Models::keep(Entry& entry) {
    Handle model = entry.model ? nullptr : entry.leaving.lock();
    if (!model)
        return;
    std::erase_if(retired_models_, [&](const auto& retired) { return retired.lock() == model; });
    entry.model = std::move(model);
    entry.leaving.reset();
    entry.state = State::loaded;
}

void Models::recheck_requested() {
    const std::scoped_lock lock(mutex_);
    for (const std::string& name : std::vector<std::string>(requested_.begin(), requested_.end())) {
        const auto found = entries_.find(name);
        const auto source = options_.finder(name);
        const bool is_same =
            source && (found == entries_.end() || is_unchanged(found->second->listed.source, *source));
        if (!is_same)
            drop_requested(name);
    }
}

Status Models::set_idle_max(std::string_view name, std::optional<std::chrono::milliseconds> idle_max,
                            std::optional<uint64_t> client) {
    const std::scoped_lock lock(mutex_);
    const auto* const found = find_entry(name);
    if (found == nullptr)
        return Error{ErrorKind::not_found, fmt::format("the model `{}` does not exist", name)};
    keep(*found->second);
    found->second->idle_max = idle_max;
    found->second->idle_max_client = client;
    found->second->last_busy = Clock::now();
    watch_idle_models();
    return {};
}

/// Frees models that are not held, outside the lock, because that may be slow. Loads wait for their memory.
void Models::release(std::vector<Handle> models, std::unique_lock<std::mutex>& lock) {
    ++releasing_;
    lock.unlock();
    models.clear();
    lock.lock();
    --releasing_;
    changed_.notify_all();
}

/// Starts the thread that unloads idle models, or lets it read a changed idle_max.
void Models::watch_idle_models() {
    if (is_ending_)
        return;
    if (watcher_.joinable())
        return idle_max_changed_.notify_all();
    try {
        watcher_ = std::thread([this] {
            std::unique_lock lock(mutex_);
            while (!is_ending_)
                idle_max_changed_.wait_for(lock, unload_idle(lock));
        });
    } catch (const std::system_error& error) {
        log(LogLevel::warning, std::string("idle models stay in memory: ") + error.what());
    }
}

/// Unloads the models that have been idle for long. Returns the time after which to look again: 0 if the lock
/// was released.
std::chrono::milliseconds Models::unload_idle(std::unique_lock<std::mutex>& lock) {
    const auto now = Clock::now();
    std::chrono::milliseconds interval = no_watch_interval;
    std::vector<Handle> idle;
    for (const auto& [name, entry] : entries_) {
        if (!entry->model || !entry->idle_max || is_pinned(*entry))
            continue;
        if (entry->model.use_count() > 1)
            entry->last_busy = now;
        const auto others_quiet_in =
            entry->users->others_quiet_in(entry->idle_max_client, unload_rules_.quiet_time());
        const bool is_idle = now - std::max(entry->last_used, entry->last_busy) >= *entry->idle_max;
        if (is_idle && others_quiet_in == std::chrono::milliseconds(0)) {
            idle.push_back(std::exchange(entry->model, nullptr));
            entry->state = State::unloaded;
            log(LogLevel::info, fmt::format("{}: unloaded, because it is idle", name));
        } else {
            interval = std::min(interval,
                                std::clamp(std::max(*entry->idle_max, others_quiet_in) / watches_per_idle_max,
                                           watch_interval_min, watch_interval_max));
        }
    }
    if (idle.empty())
        return interval;
    release(std::move(idle), lock);
    return std::chrono::milliseconds(0); // what changed while the lock was released was not noticed
}

bool Models::is_loading() {
    const std::scoped_lock lock(mutex_);
    return loading_ > 0;
}

void Models::discard(const Handle& broken) {
    std::vector<Handle> released;
    std::unique_lock lock(mutex_);
    for (auto& [name, entry] : entries_) {
        if (entry->leaving.lock() == broken)
            entry->leaving.reset();
        if (entry->model == broken && entry->state == State::loaded) {
            released.push_back(std::exchange(entry->model, nullptr));
            entry->state = State::unloaded;
        }
    }
    release(std::move(released), lock);
}

void Models::queue(const std::shared_ptr<Entry>& entry) {
    if (entry->is_queued || entry->state == State::loading)
        return;
    entry->is_queued = true;
    entry->queued_at = Clock::now();
    queue_.push_back(entry);
}

/// Starts the queued loads that have room; called by waiting requests.
void Models::start_queued_loads() {
    while (!queue_.empty()) {
        const std::shared_ptr<Entry> entry = queue_.front();
        if (const Handle model = model_in_memory(*entry)) { // it was not evicted
            for (Waiter* waiter : std::exchange(entry->waiters, {}))
                waiter->model = model;
            entry->last_used = Clock::now();
            changed_.notify_all();
        } else if (!entry->waiters.empty()) {
            const bool is_alone =
                options_.memory_bytes_max != UINT64_MAX; // the next one gets the remaining memory
            if (releasing_ > 0 || (is_alone && loading_ > 0) || (!has_room() && !evict_idle_model()))
                return;
            if (!has_room())
                continue;
            if (entry->load_thread.joinable())
                entry->load_thread.join(); // it is finished except for its return
            entry->state = State::loading;
            entry->evicted = std::exchange(evicted_, {});
            ++loading_;
            start_loading(entry);
        }
        entry->is_queued = false;
        queue_.pop_front();
    }
}

void Models::start_loading(const std::shared_ptr<Entry>& entry) {
    try {
        entry->load_thread = std::thread([this, entry] {
            std::unique_lock lock(mutex_);
            finish_loading(entry, load_and_evict(*entry, lock));
        });
    } catch (const std::system_error& error) {
        finish_loading(entry, no_loading_thread(error));
    }
}

void Models::finish_loading(const std::shared_ptr<Entry>& entry, const Result<Handle>& loaded) {
    --loading_;
    entry->last_used = Clock::now();
    entry->state = loaded && !entry->is_retired ? State::loaded : State::unloaded;
    std::optional<Error> failure;
    if (loaded) {
        failures_.forget(entry->name);
        ModelFacts facts = entry->facts.value_or(ModelFacts());
        add_loaded(facts, **loaded);
        record_facts(*entry, facts);
        if (entry->is_retired) {
            retired_models_.push_back(*loaded);
        } else {
            if (options_.on_load)
                options_.on_load(entry->name, **loaded);
            entry->model = *loaded;
            entry->last_busy = Clock::now();
            entry->idle_max = options_.idle_max;
            entry->idle_max_client.reset();
            if (entry->idle_max)
                watch_idle_models();
        }
    } else {
        failure = record_failure(*entry, loaded.error());
    }
    if (failure && entry->is_requested && !entry->is_retired)
        drop_requested(std::string(entry->name));
    for (Waiter* waiter : std::exchange(entry->waiters, {})) {
        waiter->failure = failure;
        if (loaded)
            waiter->model = *loaded;
    }
    changed_.notify_all();
}

/// Records the facts of a valid file; logs once if a built-in template replaces a missing one, except for a
/// model that embeds texts: it answers no chats.
void Models::record_facts(Entry& entry, const ModelFacts& facts) {
    if (!entry.facts && !facts.stand_in_template.empty() && !facts.abilities.embeds) {
        log(LogLevel::warning,
            fmt::format("`{}` has no chat template: {} is used; --chat-template selects another",
                        entry.listed.source.name, facts.stand_in_template));
    }
    entry.facts = facts;
    entry.problem.reset();
    if (!entry.listed.source.path.empty() && usable_names_.size() < usable_names_max)
        usable_names_.insert(entry.name);
}

/// Returns the error for clients; logs it once per cause.
Error Models::record_failure(Entry& entry, const Error& error) {
    Error client_error = entry.is_requested ? error_for_requester(error, entry.listed.source, entry.name)
                                            : error_for_client(error, entry.listed.source, entry.name);
    failures_.write(entry.name, entry.listed, error);
    if (!is_transient(error.kind))
        entry.problem = client_error.message;
    const bool was_usable = usable_names_.contains(entry.name) && is_of_file(error.kind);
    return was_usable ? changed_file(client_error, entry.name) : client_error;
}

/// Releases the lock during the load; unloads idle models while memory is short.
Result<Models::Handle> Models::load_and_evict(Entry& entry, std::unique_lock<std::mutex>& lock) {
    std::vector<Handle> evicted = std::exchange(entry.evicted, {});
    constexpr bool only_idle = true;
    while (true) {
        const bool is_on_device = options_.device_loader && least_recently_used(only_idle) != nullptr;
        const Loader& loader = is_on_device ? options_.device_loader : loader_;
        const uint64_t memory_bytes_max = unused_bytes();
        lock.unlock();
        evicted.clear(); // frees the memory for the new model
        auto loaded = load_or_fail(loader, entry.listed.source, memory_bytes_max);
        lock.lock();
        const bool is_short = !loaded && loaded.error().kind == ErrorKind::out_of_memory;
        if (!is_short || (!evict_idle_model() && !is_on_device))
            return loaded;
        evicted = std::exchange(evicted_, {});
    }
}

/// Returns the part of Options::memory_bytes_max that is free for another model.
uint64_t Models::unused_bytes() {
    if (options_.memory_bytes_max == UINT64_MAX)
        return UINT64_MAX;
    uint64_t used = 0;
    for (const auto& [name, entry] : entries_)
        used += entry->model ? entry->model->runtime().memory_bytes : 0;
    for (const auto& retired : retired_models_) {
        if (const Handle model = retired.lock())
            used += model->runtime().memory_bytes;
    }
    return options_.memory_bytes_max - std::min(options_.memory_bytes_max, used);
}

/// Returns false if every model is in use or pinned, or none is loaded.
bool Models::evict_idle_model() {
    constexpr bool only_idle = true;
    Entry* const oldest = least_recently_used(only_idle);
    if (oldest == nullptr)
        return false;
    evicted_.push_back(std::exchange(oldest->model, nullptr));
    oldest->state = State::unloaded;
    return true;
}

Models::Entry* Models::least_recently_used(bool only_idle) const {
    Entry* oldest = nullptr;
    for (const auto& [name, entry] : entries_) {
        const bool is_candidate =
            entry->model && (!only_idle || entry->model.use_count() == 1) && !is_pinned(*entry);
        if (is_candidate && (oldest == nullptr || entry->last_used < oldest->last_used))
            oldest = entry.get();
    }
    return oldest;
}

bool Models::is_pinned(const Entry& entry) const {
    const auto is_named = [&](const std::string& name) {
        return options_.pinned.contains(normalized_name(name));
    };
    return is_named(entry.name) || std::ranges::any_of(entry.listed.aliases, is_named);
}

/// Whether a request for a loaded model must queue, because the model that waits to replace it would starve
/// otherwise.
bool Models::must_wait(const Entry& entry) const {
    constexpr bool only_idle = false;
    return entry.model && !queue_.empty() && Clock::now() - queue_.front()->queued_at >= queue_grace &&
           least_recently_used(only_idle) == &entry;
}

bool Models::has_room() {
    if (options_.loaded_max == 0)
        return true;
    std::erase_if(retired_models_, [](const auto& model) { return model.expired(); });
    const auto loaded = std::count_if(entries_.begin(), entries_.end(),
                                      [](const auto& item) { return item.second->model != nullptr; });
    return static_cast<std::size_t>(loaded) + loading_ + retired_models_.size() < options_.loaded_max;
}

/// Adds new files to the list, and removes missing and replaced ones.
void Models::rescan() {
    const auto now = Clock::now();
    if (last_scan_ && now - *last_scan_ < scan_interval)
        return;
    last_scan_ = now;
    const auto& listed = sources_.scan();
    for (auto item = entries_.begin(); item != entries_.end();) {
        const auto found = listed.find(item->first);
        const bool is_current = found != listed.end() &&
                                found->second.identity == item->second->listed.identity &&
                                found->second.source.path == item->second->listed.source.path;
        if (!is_current)
            retire(item->second);
        item = is_current ? std::next(item) : entries_.erase(item);
    }
    for (const auto& [name, source] : listed) {
        if (!entries_.contains(name))
            entries_.emplace(name, std::make_shared<Entry>(Entry{.name = name, .listed = source}));
    }
    std::erase_if(retired_, [](const std::shared_ptr<Entry>& entry) {
        if (entry->is_queued || entry->state == State::loading)
            return false;
        if (entry->load_thread.joinable())
            entry->load_thread.join();
        return true;
    });
}

void Models::retire(const std::shared_ptr<Entry>& entry) {
    entry->is_retired = true;
    if (entry->model) {
        retired_models_.push_back(entry->model);
        entry->model.reset();
        entry->state = State::unloaded;
    }
    entry->leaving.reset();
    retired_.push_back(entry);
}

ModelListing Models::listing(const std::string& name, const Entry& entry) const {
    const bool is_busy = entry.model && entry.model.use_count() > 1;
    const Handle model = model_in_memory(entry);
    ModelListing listing = {.name = name,
                            .aliases = entry.listed.aliases,
                            .source = entry.listed.source,
                            .created_unix_s = entry.listed.created_unix_s,
                            .file_bytes = entry.listed.identity ? entry.listed.identity->bytes
                                                                : entry.listed.source.bytes.size(),
                            .is_loaded = model != nullptr,
                            .is_loading = entry.state == State::loading,
                            .facts = entry.facts.value_or(ModelFacts()),
                            .waiting_for_load = static_cast<uint32_t>(entry.waiters.size()),
                            .is_pinned = is_pinned(entry),
                            .problem = entry.problem};
    if (model) {
        if (!entry.model) {
            listing.unloads_in = std::chrono::milliseconds(0);
        } else if (entry.idle_max && !listing.is_pinned) {
            const auto idle = std::chrono::duration_cast<std::chrono::milliseconds>(
                Clock::now() - std::max(entry.last_used, entry.last_busy));
            listing.unloads_in =
                is_busy ? *entry.idle_max : *entry.idle_max - std::min(idle, *entry.idle_max);
        }
        add_loaded(listing, *model);
        listing.idle_time = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - entry.last_used);
    }
    return listing;
}

} // namespace etna::server
