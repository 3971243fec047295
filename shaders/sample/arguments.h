#include "shaders/include/shared.h"
#ifdef __cplusplus
namespace etna::shaders {
#endif
struct SampleArguments {
    ADDRESS(Floats) logits;    // [row][logits_stride]
    ADDRESS(SampleInfos) infos;
    ADDRESS(Words) slots;
    ADDRESS(Words) partials;   // [row][chunk][4 + 2 candidates]: largest, sum, nan, unused, then pairs (id, logit)
    ADDRESS(Words) results;    // [row][4 + 2 x 64]: kernels::SampleResult
    ADDRESS(Words) nan_probes;     // [nan_probe_rows]: written by rms_norm
    uint vocabulary;
    uint logits_stride;
    uint chunks;
    uint candidates;
    uint slot_count;
    uint nan_probe_rows;
};
#ifdef __cplusplus
} // namespace etna::shaders
#endif
