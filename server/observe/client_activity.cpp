#include "server/observe/client_activity.hpp"

#include <algorithm>
#include <utility>

namespace etna::server {

ClientActivity::Request::Request(ClientActivity& activity, uint64_t client, std::string label)
    : activity_(&activity), client_(client) {
    const std::scoped_lock lock(activity_->mutex_);
    Client& entry = activity_->clients_[client_];
    entry.id = client_;
    entry.label = std::move(label);
    ++entry.waiting;
}

ClientActivity::Request::~Request() {
    const std::scoped_lock lock(activity_->mutex_);
    const auto entry = activity_->clients_.find(client_);
    --(is_running_ ? entry->second.running : entry->second.waiting);
    if (entry->second.running + entry->second.waiting == 0)
        activity_->clients_.erase(entry);
}

void ClientActivity::Request::begin_running() {
    if (std::exchange(is_running_, true))
        return;
    const std::scoped_lock lock(activity_->mutex_);
    Client& entry = activity_->clients_.at(client_);
    --entry.waiting;
    ++entry.running;
}

std::vector<ClientActivity::Client> ClientActivity::clients() const {
    std::vector<Client> clients;
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& [id, client] : clients_)
            clients.push_back(client);
    }
    std::ranges::stable_sort(clients, {}, &Client::label);
    return clients;
}

} // namespace etna::server
