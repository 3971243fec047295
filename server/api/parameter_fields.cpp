#include "server/api/parameter_fields.hpp"

#include <algorithm>
#include <optional>

namespace etna::server::api {
namespace {

using sampling::Parameter;

Bound bound(sampling::Edge edge) {
    return edge == sampling::Edge::included ? Bound::included : Bound::excluded;
}

std::optional<double> read_value(Fields& fields, sampling::Unit unit, const sampling::Offer& offer) {
    const sampling::Range& range = offer.range;
    if (unit == sampling::Unit::number)
        return fields.number(offer.name, range.min, range.max, bound(range.at_min), bound(range.at_max));
    return fields.integer(offer.name, static_cast<int64_t>(range.min), static_cast<int64_t>(range.max));
}

/// Sets a value that the API accepts to one that the sampler accepts.
void set_accepted(const Parameter& parameter, double value, uint32_t vocabulary,
                  sampling::Overrides& overrides) {
    const double least = parameter.least.value_or(parameter.range.min);
    if (value < least && parameter.below == sampling::Below::ignored)
        return;
    const bool are_all = parameter.unit == sampling::Unit::candidates && value >= vocabulary;
    sampling::set(overrides, parameter, are_all ? 0 : std::max(value, least));
}

} // namespace

void read_parameters(Fields& fields, sampling::Interface api, uint32_t vocabulary,
                     sampling::Overrides& overrides) {
    for (const Parameter& parameter : sampling::parameter_table()) {
        const sampling::Offer& offer = parameter.*api;
        if (offer.name.empty())
            continue;
        if (const auto value = read_value(fields, parameter.unit, offer))
            set_accepted(parameter, *value, vocabulary, overrides);
    }
}

} // namespace etna::server::api
