//! A bounded stream of news with one writer and any number of readers. A slow reader loses the oldest
//! and learns how many.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use crate::lock;

/// How much a feed holds for its slowest reader.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Held {
    pub(crate) items: usize,
    pub(crate) bytes: usize,
}

#[derive(Debug)]
struct Ring<T> {
    /// What is held, each with its size.
    items: VecDeque<(T, usize)>,
    /// The number of the first item held; items are numbered from the beginning of the feed.
    first: u64,
    bytes: usize,
}

/// Dropping the last writer ends the feed.
#[derive(Debug)]
pub(crate) struct FeedWriter<T> {
    ring: Arc<Mutex<Ring<T>>>,
    held: Held,
    wake: watch::Sender<()>,
}

#[derive(Debug)]
pub(crate) struct FeedReader<T> {
    ring: Arc<Mutex<Ring<T>>>,
    wake: watch::Receiver<()>,
    next: u64,
}

/// What a reader gets.
#[derive(Debug, PartialEq)]
pub(crate) enum Fed<T> {
    Item(T),
    /// So many items were lost.
    Missed(u64),
}

pub(crate) fn feed<T>(held: Held) -> (FeedWriter<T>, FeedReader<T>) {
    let ring = Arc::new(Mutex::new(Ring {
        items: VecDeque::new(),
        first: 0,
        bytes: 0,
    }));
    let (sender, receiver) = watch::channel(());
    let writer = FeedWriter {
        ring: Arc::clone(&ring),
        held,
        wake: sender,
    };
    let reader = FeedReader {
        ring,
        wake: receiver,
        next: 0,
    };
    (writer, reader)
}

impl<T> Clone for FeedWriter<T> {
    fn clone(&self) -> Self {
        Self {
            ring: Arc::clone(&self.ring),
            held: self.held,
            wake: self.wake.clone(),
        }
    }
}

impl<T> FeedWriter<T> {
    /// Adds one item of a size in bytes. The newest item is always held, whatever its size.
    pub(crate) fn push(&self, item: T, size: usize) {
        let mut ring = lock(&self.ring);
        while ring.items.len() >= self.held.items || ring.bytes + size > self.held.bytes {
            let Some((_, freed)) = ring.items.pop_front() else {
                break;
            };
            ring.bytes -= freed;
            ring.first += 1;
        }
        ring.bytes += size;
        ring.items.push_back((item, size));
        drop(ring);
        self.wake.send_replace(());
    }

    /// Whether nobody reads any more.
    pub(crate) fn is_closed(&self) -> bool {
        self.wake.is_closed()
    }
}

impl<T: Clone> FeedReader<T> {
    /// The next item; none once the feed has ended. Nothing is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Fed<T>> {
        loop {
            if let Some(fed) = self.take() {
                return Some(fed);
            }
            if self.wake.changed().await.is_err() {
                return self.take();
            }
        }
    }

    fn take(&mut self) -> Option<Fed<T>> {
        let ring = lock(&self.ring);
        if self.next < ring.first {
            let missed = ring.first - self.next;
            self.next = ring.first;
            return Some(Fed::Missed(missed));
        }
        let at = usize::try_from(self.next - ring.first).ok()?;
        let (item, _) = ring.items.get(at)?;
        self.next += 1;
        Some(Fed::Item(item.clone()))
    }

    /// Another reader of the same feed, which begins with what comes next.
    pub(crate) fn another_from_now(&self) -> Self {
        let ring = lock(&self.ring);
        Self {
            ring: Arc::clone(&self.ring),
            wake: self.wake.clone(),
            next: ring.first + ring.items.len() as u64,
        }
    }

    /// Another reader of the same feed, from the same place on.
    pub(crate) fn another_from_here(&self) -> Self {
        Self {
            ring: Arc::clone(&self.ring),
            wake: self.wake.clone(),
            next: self.next,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELD: Held = Held { items: 3, bytes: 10 };

    #[tokio::test]
    async fn what_does_not_fit_is_lost_from_the_front() {
        let (writer, mut reader) = feed(HELD);
        for n in 1..=5 {
            writer.push(n, 1);
        }
        let mut later = reader.another_from_now();
        assert_eq!(reader.next().await, Some(Fed::Missed(2)));
        for n in 3..=5 {
            assert_eq!(reader.next().await, Some(Fed::Item(n)));
        }
        writer.push(6, 10);
        assert_eq!(
            reader.next().await,
            Some(Fed::Item(6)),
            "the newest is held whatever its size"
        );
        writer.push(7, 11);
        assert_eq!(later.next().await, Some(Fed::Missed(1)));
        assert_eq!(later.next().await, Some(Fed::Item(7)));
    }

    #[tokio::test]
    async fn the_last_writer_ends_it_after_what_was_written() {
        let (writer, mut reader) = feed(HELD);
        let second = writer.clone();
        drop(writer);
        second.push(1, 1);
        drop(second);
        assert_eq!(reader.next().await, Some(Fed::Item(1)));
        assert_eq!(reader.next().await, None);
        assert_eq!(reader.next().await, None);
    }

    #[tokio::test]
    async fn a_reader_that_waits_is_woken_and_one_that_is_gone_is_noticed() {
        let (writer, mut reader) = feed(HELD);
        let reading = tokio::spawn(async move { reader.next().await });
        tokio::task::yield_now().await;
        assert!(!writer.is_closed());
        writer.push(1, 1);
        assert_eq!(reading.await.unwrap(), Some(Fed::Item(1)));
        assert!(writer.is_closed());
    }
}
