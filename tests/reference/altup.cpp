#include "tests/reference/altup.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace etna::reference {
namespace {

double mean_of(View x) {
    return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

double mean_square(View x) {
    return std::inner_product(x.begin(), x.end(), x.begin(), 0.0) / static_cast<double>(x.size());
}

} // namespace

Vector modalities(const AltUp& altup, View x) {
    Vector inputs = rms_norm(x, altup.router_norm, altup.epsilon);
    for (double& one : inputs)
        one /= static_cast<double>(x.size());
    Vector routed = linear(altup.router, inputs);
    for (double& one : routed)
        one = std::tanh(one);
    return routed;
}

std::vector<Vector> predict(const AltUp& altup, const std::vector<Vector>& streams) {
    const std::size_t count = streams.size();
    const Vector weights = linear(altup.prediction, modalities(altup, streams[0]));
    std::vector<Vector> predictions = streams;
    for (std::size_t to = 0; to < count; ++to) {
        for (std::size_t from = 0; from < count; ++from) {
            for (std::size_t k = 0; k < streams[0].size(); ++k)
                predictions[to][k] += weights[to * count + from] * streams[from][k];
        }
    }
    return predictions;
}

std::vector<Vector> correct(const AltUp& altup, const std::vector<Vector>& predictions, View activated) {
    const Vector weights = linear(altup.correction, modalities(altup, activated));
    std::vector<Vector> corrected = predictions;
    for (std::size_t stream = 0; stream < predictions.size(); ++stream) {
        for (std::size_t k = 0; k < activated.size(); ++k)
            corrected[stream][k] += (weights[stream] + 1) * (activated[k] - predictions[0][k]);
    }
    return corrected;
}

Vector with_magnitude_of(View target, View x, double epsilon) {
    Vector y(x.begin(), x.end());
    for (double& one : y)
        one *= std::sqrt(mean_square(target)) / std::sqrt(std::max(mean_square(x), epsilon));
    return y;
}

Vector statistical_top_k(View x, double deviations) {
    const double mean = mean_of(x);
    Vector centred(x.begin(), x.end());
    for (double& one : centred)
        one -= mean;
    const double cutoff = deviations * std::sqrt(mean_square(centred));
    for (double& one : centred)
        one = std::max(one - cutoff, 0.0);
    return centred;
}

} // namespace etna::reference
