// The largest logits of a workgroup's share, in descending order, smaller id first among equals. The share lies in cells; the K-th largest
// of the cells' maxima is a lower bound of the K-th largest logit. What is not below the bound is collected in a list, and each entry's
// rank is the number of entries that precede it. No step repeats for each candidate.
const uint cells_max = 576;
const uint listed_max = 1024;

struct Logit {
    float value;
    uint id;
};

bool precedes(Logit one, Logit other) { return one.value > other.value || (one.value == other.value && one.id < other.id); }

shared Logit cells[cells_max]; // maxima
shared Logit bound;
shared Logit listed[listed_max];
shared uint listed_count;

// Sets `bound` to the cell of rank `count` - 1. The cells must be visible; a barrier follows.
void find_bound(uint cell_count, uint count) {
    for (uint c = gl_LocalInvocationID.x; c < cell_count; c += WORKGROUP) {
        Logit own = cells[c];
        uint rank = 0;
        for (uint i = 0; i < cell_count; ++i)
            rank += uint(precedes(cells[i], own));
        if (rank == count - 1)
            bound = own;
    }
    if (gl_LocalInvocationID.x == 0)
        listed_count = 0;
}

// Adds a logit to the list unless it is below the bound; whether it is not.
bool list(Logit one) {
    if (precedes(bound, one))
        return false;
    uint at = atomicAdd(listed_count, 1);
    if (at < listed_max)
        listed[at] = one;
    return true;
}

// The number of entries of the list that precede one.
uint rank_in_list(Logit one) {
    uint rank = 0;
    for (uint i = 0; i < listed_count; ++i)
        rank += uint(precedes(listed[i], one));
    return rank;
}
