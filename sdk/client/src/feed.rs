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
