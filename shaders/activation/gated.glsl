// act(x) u, KIND as kernels::Gate. act(x) = x / (1 + exp(-z)), or 1 / (1 + exp(-x)) (SIGMOID), or max(x, 0) (RELU):
//   SILU: z = x
//   GELU: z = 2 sqrt(2 / pi) (x + 0.044715 x^3), by tanh (arXiv 1606.08415): (1 + tanh(z / 2)) / 2 = 1 / (1 + exp(-z))
//   CLAMPED_SILU: z = 1.702 x, of min(x, 7) and clamp(u, -7, 7) + 1 in the place of x and u (arXiv 2508.10925)
const uint GELU = 1;
const uint CLAMPED_SILU = 2;
const uint SIGMOID = 3;
const uint RELU = 4;

// Comparisons, because min and max may drop a NaN.
float at_most(float x, float limit) { return x > limit ? limit : x; }
float at_least(float x, float limit) { return x < limit ? limit : x; }

float gated(float x, float u) {
    if (KIND == RELU)
        return at_least(x, 0) * u;
    float z = x;
    if (KIND == GELU)
        z = 1.5957691216057308 * (x + 0.044715 * x * x * x);
    if (KIND == CLAMPED_SILU) {
        x = at_most(x, 7);
        z = 1.702 * x;
        u = at_least(at_most(u, 7), -7) + 1;
    }
    if (KIND == SIGMOID)
        x = 1;
    return x / (1 + exp(-z)) * u;
}
