//! Scripted peers, a simulated pair, the revision × transport matrix. For tests only.
