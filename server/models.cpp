#include "server/models.hpp"

#include "core/base/log.hpp"

#include <algorithm>
#include <ctime>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

namespace etna::server {
namespace {

/// How soon a folder is looked into again.
constexpr std::chrono::seconds folder_age_max{1};
/// How often a request that waits for others' loading is asked whether it is still wanted.
constexpr std::chrono::milliseconds wait_poll{50};

int64_t time_of(const store::ModelSource& source) {
    struct stat status{};
    if (source.path.empty() || ::stat(source.path.c_str(), &status) != 0)
        return std::time(nullptr);
    return status.st_mtim.tv_sec;
}

/// The error without the folder of the model's file: where things lie on this machine is not for clients.
Error without_folder(Error error, const store::ModelSource& source) {
    const std::string folder = (source.path.parent_path() / "").string();
    for (std::size_t at = 0; !folder.empty() && (at = error.message.find(folder, at)) != std::string::npos;)
        error.message.erase(at, folder.size());
    return error;
}

} // namespace

Models::Models(Options options, Loader loader) : options_(std::move(options)), loader_(std::move(loader)) {
    for (const NamedSource& named : options_.named) {
        auto entry = std::make_shared<Entry>();
        entry->source = named.source;
        entry->created_unix_s = time_of(named.source);
        entry->is_named = true;
        entries_.emplace(named.name, std::move(entry)); // names differ, as the caller has checked
    }
}

Models::~Models() {
    for (const auto& [name, entry] : entries_)
        vanished_.push_back(entry);
    for (const auto& entry : vanished_) {
        if (entry->loading.joinable())
            entry->loading.join();
    }
}

std::vector<ModelListing> Models::list() {
    const std::scoped_lock lock(mutex_);
    look_into_folder();
    std::vector<ModelListing> listings;
    for (const auto& [name, entry] : entries_)
        listings.push_back(listing(name, *entry));
    return listings;
}

std::string Models::default_name() {
    const std::scoped_lock lock(mutex_);
    if (!options_.named.empty())
        return options_.named.front().name;
    look_into_folder();
    return entries_.empty() ? std::string() : entries_.begin()->first;
}

std::optional<ModelListing> Models::find(std::string_view name) {
    const std::scoped_lock lock(mutex_);
    look_into_folder();
    const auto found = entries_.find(name);
    return found == entries_.end() ? std::nullopt : std::optional(listing(found->first, *found->second));
}

Result<Models::Handle> Models::acquire(std::string_view name, const std::function<bool()>& is_unwanted) {
    std::unique_lock lock(mutex_);
    look_into_folder();
    const auto found = entries_.find(name);
    if (found == entries_.end())
        return Error{ErrorKind::not_found, fmt::format("there is no model `{}`", name)};
    const std::shared_ptr<Entry> entry = found->second; // may leave the list while it is waited for
    if (entry->state == State::unloaded) {
        if (entry->loading.joinable())
            entry->loading.join(); // it is over, but for its last words
        entry->state = State::loading;
        entry->failure.reset();
        entry->loading = std::thread([this, entry] { load(entry); });
    }
    while (entry->state == State::loading) {
        changed_.wait_for(lock, wait_poll);
        if (is_unwanted && is_unwanted())
            return Error{ErrorKind::cancelled, "the request is not wanted any more"};
    }
    entry->used = Clock::now();
    if (entry->model)
        return entry->model;
    return entry->failure.value_or(
        Error{ErrorKind::busy, fmt::format("the model `{}` has just been unloaded", name)});
}

bool Models::is_loading() {
    const std::scoped_lock lock(mutex_);
    const auto loads = [](const std::shared_ptr<Entry>& entry) { return entry->state == State::loading; };
    return std::any_of(vanished_.begin(), vanished_.end(), loads) ||
           std::any_of(entries_.begin(), entries_.end(),
                       [&](const auto& item) { return loads(item.second); });
}

void Models::discard(const Handle& broken) {
    Handle released; // its end may take a while: outside the lock
    const std::scoped_lock lock(mutex_);
    for (auto& [name, entry] : entries_) {
        if (entry->model == broken && entry->state == State::loaded) {
            released = std::exchange(entry->model, nullptr);
            entry->state = State::unloaded;
        }
    }
}

void Models::load(const std::shared_ptr<Entry>& entry) {
    std::unique_lock lock(mutex_);
    auto loaded = load_with_room(*entry, lock);
    entry->state = loaded ? State::loaded : State::unloaded;
    entry->used = Clock::now();
    if (loaded) {
        entry->model = std::move(*loaded);
    } else {
        log(LogLevel::warning, fmt::format("a model cannot be loaded: {}", loaded.error().message));
        entry->failure = without_folder(loaded.error(), entry->source);
    }
    changed_.notify_all();
}

/// With the lock open while it loads; makes room first where there are too many, and then while memory is
/// short.
Result<Models::Handle> Models::load_with_room(const Entry& entry, std::unique_lock<std::mutex>& lock) {
    while (options_.loaded_max > 0 && loaded_count() >= options_.loaded_max && unload_one(entry)) {
    }
    while (true) {
        lock.unlock();
        auto loaded = loader_(entry.source);
        lock.lock();
        if (loaded || loaded.error().kind != ErrorKind::out_of_memory || !unload_one(entry))
            return loaded;
    }
}

/// False where every other model is in use, or none is loaded.
bool Models::unload_one(const Entry& except) {
    std::shared_ptr<Entry> oldest;
    for (const auto& [name, entry] : entries_) {
        const bool is_idle =
            entry->state == State::loaded && entry->model.use_count() == 1 && entry.get() != &except;
        if (is_idle && (!oldest || entry->used < oldest->used))
            oldest = entry;
    }
    if (!oldest)
        return false;
    oldest->model.reset();
    oldest->state = State::unloaded;
    return true;
}

/// Puts files that have appeared on the list, and takes those off that have vanished.
void Models::look_into_folder() {
    const auto now = Clock::now();
    if (options_.folder.empty() || (looked_ && now - *looked_ < folder_age_max))
        return;
    looked_ = now;
    const std::vector<std::string> names = store::model_names(options_.folder);
    for (const std::string& name : names) {
        if (entries_.contains(name))
            continue;
        auto source = store::resolve(name, options_.folder);
        if (!source)
            continue;
        auto entry = std::make_shared<Entry>();
        entry->created_unix_s = time_of(*source);
        entry->source = std::move(*source);
        entries_.emplace(name, std::move(entry));
    }
    for (auto item = entries_.begin(); item != entries_.end();) {
        const bool stays =
            item->second->is_named || std::binary_search(names.begin(), names.end(), item->first);
        if (!stays)
            vanished_.push_back(item->second);
        item = stays ? std::next(item) : entries_.erase(item);
    }
    std::erase_if(vanished_, [](const std::shared_ptr<Entry>& entry) {
        if (entry->state == State::loading)
            return false;
        if (entry->loading.joinable())
            entry->loading.join();
        return true;
    });
}

std::size_t Models::loaded_count() const {
    return static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(), [](const auto& item) {
        return item.second->state == State::loaded;
    }));
}

ModelListing Models::listing(const std::string& name, const Entry& entry) {
    ModelListing listing = {
        .name = name, .created_unix_s = entry.created_unix_s, .is_loaded = entry.model != nullptr};
    if (entry.model) {
        listing.context_tokens = entry.model->context_tokens();
        listing.load = entry.model->engine().load();
        listing.device_memory = entry.model->device_memory();
        listing.has_chat_template = entry.model->chat().find({}).has_value();
    }
    return listing;
}

} // namespace etna::server
