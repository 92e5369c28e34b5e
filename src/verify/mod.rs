//! The verdict: match true, false or null, with its reason and near misses.
