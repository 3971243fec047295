#pragma once

#include "core/base/cancel.hpp"
#include "core/base/result.hpp"
#include "core/generate/model.hpp"
#include "server/models/failure_log.hpp"
#include "server/models/model_listing.hpp"
#include "server/models/model_sources.hpp"
#include "server/models/model_users.hpp"
#include "server/models/unload_rules.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace etna::server {

/// The effect of Models::unload().
enum class Unloading : uint8_t {
    done,
    after_requests, ///< the memory is freed when the running requests end
    not_loaded,
};

/// The served models: the configured ones and those in a folder. Files are rescanned on access: they may
/// appear, disappear and be replaced. A model is loaded on first use, and reloaded when its file changes. A
/// held handle keeps its model alive; unloading only drops the list's reference. A model is busy while a
/// handle is held, and idle otherwise; only idle models are unloaded to make room, the least recently used
/// first, or when they have been idle for long. Thread-safe.
class Models {
public:
    using Handle = std::shared_ptr<const generate::Model>;
    /// The model takes at most `memory_bytes_max`. Errors: out_of_memory, if it needs more, among others.
    using Loader = std::function<Result<Handle>(const store::ModelSource& source, uint64_t memory_bytes_max)>;
    using Inspector = std::function<Result<ModelFacts>(const store::ModelSource&)>;
    /// Returns the source of a model that is not served, so that a request may name it; its `name` is the
    /// name that the list gets. Quick: it asks no network. The loader may fetch a source without bytes.
    /// Errors: not_found, invalid_argument.
    using Finder = std::function<Result<store::ModelSource>(std::string_view name)>;

    /// Models that requests named and that stay in the list; the one named first leaves it if there are more.
    static constexpr std::size_t requested_max = 256;
    /// Names whose files are known to have been usable.
    static constexpr std::size_t usable_names_max = 10'000;

    struct Options {
        std::vector<NamedSource> named = {};
        std::filesystem::path folder = {};      ///< empty: none
        std::size_t loaded_max = 0;             ///< loaded or loading; 0: as many as fit in memory
        uint64_t memory_bytes_max = UINT64_MAX; ///< that the loaded models take together
        /// normalized_name() of names or aliases; these models are not unloaded.
        std::set<std::string, std::less<>> pinned = {};
        /// A client unloads a model only if no other client has used it for this time.
        std::chrono::milliseconds quiet_time{60'000};
        /// Time without requests after which a model is unloaded; empty: never.
        std::optional<std::chrono::milliseconds> idle_max = {};
        Finder finder = {}; ///< of further models that requests may name; empty: none
        /// Called with the list's name of a model that was loaded, before its first request; empty: not.
        /// Must not block or call the list.
        std::function<void(const std::string& name, const generate::Model& model)> on_load = {};
        /// Loads a model only if all of it fits on the device with a useful context, and otherwise fails with
        /// out_of_memory. Used while an idle model could be unloaded, so that an idle model never forces
        /// another into host memory or a short context. Empty: the loader is always used.
        Loader device_loader = {};
    };

    /// Without an inspector, no facts about a model are known before it is loaded.
    Models(Options options, Loader loader, Inspector inspector = {});
    Models(const Models&) = delete;
    Models& operator=(const Models&) = delete;

    /// Waits for loads in progress. No acquire() may be in progress.
    ~Models();

    /// Models by name, with the facts known so far; known-broken ones are left out.
    [[nodiscard]] std::vector<ModelListing> list();

    /// The same, with those that are known to be broken.
    [[nodiscard]] std::vector<ModelListing> list_all();

    /// As list(), after inspect(). Blocks.
    [[nodiscard]] std::vector<ModelListing> list_inspected() {
        inspect();
        return list();
    }

    /// Returns the counters of the models in memory. Reads no files and asks no driver.
    [[nodiscard]] std::vector<EngineReading> engine_readings();

    /// Inspects the files not inspected yet, several at a time, so that their listings are complete. Blocks.
    void inspect() { inspect({}); }

    /// The same; skips the remaining files once `is_cancelled` returns true, which several threads call.
    void inspect(const CancelPoll& is_cancelled);

    /// The first configured model, else the first of the folder by name; empty if there is none. Known-broken
    /// files come last.
    [[nodiscard]] std::string default_name();

    /// Looks a model up by name or alias, else by equal normalized_name(). Empty: not found.
    [[nodiscard]] std::optional<ModelListing> find(std::string_view name);

    /// Returns the model with this name or alias if it is in memory, otherwise null. Does not count as a use.
    [[nodiscard]] Handle find_loaded(std::string_view name);

    /// As find(). A model that is not listed, but that the finder finds, is added to the list. Its failures
    /// are for the client: the model then leaves the list. Errors: not_found, and those of the finder.
    Result<ModelListing> find_or_add(std::string_view name);

    /// Returns the model with exactly this name, also if it has left the list since find_or_add() and the
    /// finder still finds it. If it is not loaded, loads it on a separate thread, once for all callers;
    /// blocks until then, and polls `is_cancelled` twenty times a second. If `loaded_max` is reached, the
    /// load is queued until the least recently used model is idle and can be unloaded; later requests for
    /// that model, after a grace period, queue after it. If memory is short, by `memory_bytes_max` or on the
    /// device, idle models are unloaded until it suffices, before experts of this one are placed in host
    /// memory. Errors: io (the file was usable before, and is not now),
    /// not_found (no such name), cancelled, out_of_memory, no_device, device_lost,
    /// unsupported (not a model that etna supports), and corrupt for any other file error. Messages do not
    /// contain local file names, because they go to clients; the full ones go to the log, once per cause
    /// until the model loads or its file changes. `client`: that uses the model as long as a copy of the
    /// handle lives; empty: the server itself.
    Result<Handle> acquire(std::string_view name, const CancelPoll& is_cancelled = {},
                           std::optional<uint64_t> client = {});

    /// Drops the list's reference to the model with this name or alias, unless it is pinned. Until the
    /// running requests end, further ones share it, and set_idle_max() cancels the unload; after that, the
    /// next request reloads it. `client`: that asks for it, and may not take the model from others; empty:
    /// the server itself.
    Result<Unloading, UnloadRefusal> unload(std::string_view name, std::optional<uint64_t> client = {});

    /// Asks the finder again for the models that requests added. Those that it does not find, or finds with
    /// another file, leave the list; running requests keep them.
    void recheck_requested();

    /// Replaces Options::idle_max for a model in memory, by its name or alias, until it is unloaded. Empty:
    /// it stays in memory. `client`: as in unload(). Errors: not_found.
    Status set_idle_max(std::string_view name, std::optional<std::chrono::milliseconds> idle_max,
                        std::optional<uint64_t> client = {});

    /// Whether a load is in progress, for which the destructor would wait.
    [[nodiscard]] bool is_loading();

    /// Drops a broken model, so that the next acquire() reloads it.
    void discard(const Handle& broken);

private:
    using Clock = std::chrono::steady_clock;

    enum class State : uint8_t { unloaded, loading, loaded };

    /// A caller blocked in acquire(). The result is handed over directly, so that the model cannot be
    /// unloaded in between.
    struct Waiter {
        Handle model = nullptr;
        std::optional<Error> failure = {};
    };

    struct Entry {
        std::string name; ///< the client-visible name
        ListedSource listed;
        State state = State::unloaded;
        Handle model = nullptr;
        std::weak_ptr<const generate::Model> leaving = {}; ///< after unload(), while a request holds it
        std::optional<ModelFacts> facts = {};
        std::optional<std::string> problem = {};
        bool is_inspected_now = false;
        Clock::time_point last_used = {}; ///< when a request for it began
        Clock::time_point last_busy = {}; ///< when unload_idle() last saw it in use, or it was loaded
        std::optional<std::chrono::milliseconds> idle_max = {}; ///< while it is loaded
        std::optional<uint64_t> idle_max_client =
            {}; ///< that set it; empty: Options::idle_max, or the server
        std::shared_ptr<ModelUsers> users = std::make_shared<ModelUsers>();
        std::vector<Waiter*> waiters = {}; ///< borrowed
        bool is_queued = false;            ///< is in the load queue
        Clock::time_point queued_at = {};  ///< when it was queued
        bool is_retired = false;           ///< its file is gone or was replaced
        bool is_requested = false;         ///< a request added it
        std::vector<Handle> evicted = {};  ///< models evicted for this one; released before it is loaded
        std::thread load_thread = {};      ///< joined before the next load, and in the destructor
    };
    using Entries = std::map<std::string, std::shared_ptr<Entry>, std::less<>>;

    void rescan();
    void retire(const std::shared_ptr<Entry>& entry);
    void add_requested(const store::ModelSource& source);
    Status add_again(std::string_view name);
    void drop_requested(const std::string& name);
    void queue(const std::shared_ptr<Entry>& entry);
    void start_queued_loads();
    void start_loading(const std::shared_ptr<Entry>& entry);
    void finish_loading(const std::shared_ptr<Entry>& entry, const Result<Handle>& loaded);
    Result<Handle> load_and_evict(Entry& entry, std::unique_lock<std::mutex>& lock);
    bool evict_idle_model();
    [[nodiscard]] Entry* least_recently_used(bool only_idle) const;
    [[nodiscard]] static Handle model_in_memory(const Entry& entry);
    void keep(Entry& entry);
    [[nodiscard]] bool is_pinned(const Entry& entry) const;
    [[nodiscard]] uint64_t unused_bytes();
    void release(std::vector<Handle> models, std::unique_lock<std::mutex>& lock);
    void watch_idle_models();
    std::chrono::milliseconds unload_idle(std::unique_lock<std::mutex>& lock);
    void inspect_one(Entry& entry, std::unique_lock<std::mutex>& lock);
    void record_facts(Entry& entry, const ModelFacts& facts);
    Error record_failure(Entry& entry, const Error& error);
    [[nodiscard]] bool must_wait(const Entry& entry) const;
    [[nodiscard]] bool has_room();
    [[nodiscard]] const Entries::value_type* find_entry(std::string_view name) const;
    [[nodiscard]] ModelListing listing(const std::string& name, const Entry& entry) const;

    const Options options_;
    const Loader loader_;
    const Inspector inspector_;
    std::mutex mutex_;
    std::condition_variable changed_;
    ModelSources sources_;
    Entries entries_;
    std::deque<std::shared_ptr<Entry>> queue_;                         ///< pending loads, FIFO
    std::vector<std::shared_ptr<Entry>> retired_;                      ///< until their threads have ended
    std::vector<Handle> evicted_;                                      ///< released before the next load
    std::vector<std::weak_ptr<const generate::Model>> retired_models_; ///< of retired entries, still in use
    std::deque<std::string> requested_; ///< names of the entries that requests added, oldest first
    FailureLog failures_;
    std::set<std::string, std::less<>> usable_names_; ///< of entries whose files were usable once
    UnloadRules unload_rules_;
    std::size_t loading_ = 0;
    std::size_t releasing_ = 0; ///< calls of release(), whose memory is not free yet
    std::optional<Clock::time_point> last_scan_;
    bool is_ending_ = false;
    std::condition_variable idle_max_changed_;
    std::thread watcher_; ///< of idle models; started by the first idle_max
};

} // namespace etna::server
