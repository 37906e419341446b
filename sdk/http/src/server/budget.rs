//! Bytes that all requests share.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many bytes are held, and how many there should be at most. Whoever takes one byte too many still gets it: what
/// follows from that is decided where it is taken.
#[derive(Debug)]
pub(super) struct Budget {
    used: AtomicUsize,
    most: usize,
}

impl Budget {
    pub(super) fn new(most: usize) -> Self {
        Self {
            used: AtomicUsize::new(0),
            most,
        }
    }

    pub(super) fn take(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn is_over(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.most
    }

    #[cfg(test)]
    pub(super) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }
}
