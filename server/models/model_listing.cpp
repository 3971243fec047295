#include "server/models/model_listing.hpp"

namespace etna::server {

void add_loaded(ModelFacts& facts, const generate::Model& model) {
    facts.context_tokens = model.context_tokens();
    facts.has_chat_template = model.file().chat.find({}).has_value();
    facts.stand_in_template = model.file().chat.guessed();
    facts.abilities.embeds = facts.abilities.embeds || model.engine().limits().is_encoder;
}

void add_loaded(ModelListing& listing, const generate::Model& model) {
    listing.load = model.engine().load();
    listing.device = model.runtime().device_name;
    listing.is_on_cpu = model.runtime().on_cpu;
    listing.memory_bytes = model.runtime().memory_bytes;
    listing.device_use = model.runtime().device_use;
    listing.device_memory = model.runtime().device_memory();
}

} // namespace etna::server
