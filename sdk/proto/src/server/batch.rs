//! Batches: answers that leave together
//! ([2025-03-26](https://modelcontextprotocol.io/specification/2025-03-26/basic#batching)).

use std::collections::HashMap;

#[derive(Debug, Default)]
struct Batch {
    expected: usize,
    answers: Vec<Vec<u8>>,
}

#[derive(Debug, Default)]
pub(super) struct Batches {
    next: u64,
    open: HashMap<u64, Batch>,
}

impl Batches {
    pub(super) fn open(&mut self) -> u64 {
        self.next += 1;
        // Held open by whoever reads it, so that it is not sent before its end is read.
        self.open.insert(
            self.next,
            Batch {
                expected: 1,
                answers: Vec::new(),
            },
        );
        self.next
    }

    /// One more request of the batch will be answered later.
    pub(super) fn expect(&mut self, batch: u64) {
        if let Some(batch) = self.open.get_mut(&batch) {
            batch.expected += 1;
        }
    }

    /// One of them is answered or cancelled.
    pub(super) fn forget(&mut self, batch: u64) {
        if let Some(batch) = self.open.get_mut(&batch) {
            batch.expected -= 1;
        }
    }

    pub(super) fn collect(&mut self, batch: u64, answer: Vec<u8>) {
        if let Some(batch) = self.open.get_mut(&batch) {
            batch.answers.push(answer);
        }
    }

    /// The array of all answers, once none is missing. A batch of notifications has no answer.
    pub(super) fn take_if_whole(&mut self, batch: u64) -> Option<Vec<u8>> {
        if self.open.get(&batch)?.expected > 0 {
            return None;
        }
        let answers = self.open.remove(&batch)?.answers;
        if answers.is_empty() {
            return None;
        }
        let mut message = vec![b'['];
        message.extend(answers.join(&b','));
        message.push(b']');
        Some(message)
    }
}
