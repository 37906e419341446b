//! Many things that wait at once, polled only when they were woken.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};

/// Names an item of a [`WakeSet`] as long as it is there. Keys are never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key(u64);

/// Items that are polled one by one, each only after its own waker was woken. What wakes one costs the others nothing.
#[derive(Debug)]
pub(crate) struct WakeSet<T> {
    items: std::collections::HashMap<Key, (T, Arc<ItemWaker>)>,
    queue: Arc<Queue>,
    next: u64,
}

#[derive(Debug, Default)]
struct Queue {
    woken: Mutex<Woken>,
}

#[derive(Debug, Default)]
struct Woken {
    keys: VecDeque<Key>,
    /// The task that polls.
    task: Option<Waker>,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, Woken> {
        // It is whole between any two statements.
        self.woken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct ItemWaker {
    key: Key,
    queued: AtomicBool,
    queue: Arc<Queue>,
}

impl Wake for ItemWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.queued.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut woken = self.queue.lock();
        woken.keys.push_back(self.key);
        let task = woken.task.take();
        drop(woken);
        if let Some(task) = task {
            task.wake();
        }
    }
}

impl<T> WakeSet<T> {
    pub(crate) fn new() -> Self {
        Self {
            items: std::collections::HashMap::new(),
            queue: Arc::default(),
            next: 0,
        }
    }

    /// Adds an item that wants to be polled. Nobody is woken for it: whoever adds it goes on with
    /// [`take_woken`](Self::take_woken).
    pub(crate) fn insert(&mut self, item: T) -> Key {
        let key = Key(self.next);
        self.next += 1;
        let waker = Arc::new(ItemWaker {
            key,
            queued: AtomicBool::new(true),
            queue: Arc::clone(&self.queue),
        });
        self.queue.lock().keys.push_back(key);
        self.items.insert(key, (item, waker));
        key
    }

    /// Takes an item out for good. Its waker wakes nobody any more.
    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let (item, waker) = self.items.remove(&key)?;
        waker.queued.store(true, Ordering::Release);
        Some(item)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.items.iter().map(|(key, (item, _))| (*key, item))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Drops the items that are not to stay.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.items.retain(|_, (item, _)| keep(item));
    }

    /// The next item that was woken, taken out so that it can be polled with its waker; put it back by
    /// [`put_back`](Self::put_back). Without one, the task of `cx` is woken when there is.
    pub(crate) fn take_woken(&mut self, cx: &mut Context<'_>) -> Option<Taken<T>> {
        loop {
            let mut woken = self.queue.lock();
            let Some(key) = woken.keys.pop_front() else {
                match &mut woken.task {
                    Some(task) => task.clone_from(cx.waker()),
                    none => *none = Some(cx.waker().clone()),
                }
                return None;
            };
            drop(woken);
            // What is gone does not wake anybody any more.
            let Some((item, waker)) = self.items.remove(&key) else {
                continue;
            };
            // A swap, so that the poll that follows sees what whoever found it queued had written before.
            waker.queued.swap(false, Ordering::AcqRel);
            return Some(Taken { item, key, waker });
        }
    }

    pub(crate) fn put_back(&mut self, taken: Taken<T>) {
        self.items.insert(taken.key, (taken.item, taken.waker));
    }
}

/// An item on its way through a poll.
#[derive(Debug)]
pub(crate) struct Taken<T> {
    pub(crate) item: T,
    pub(crate) key: Key,
    waker: Arc<ItemWaker>,
}

impl<T> Taken<T> {
    pub(crate) fn waker(&self) -> Waker {
        Waker::from(Arc::clone(&self.waker))
    }

    /// It has more to say at once.
    pub(crate) fn wake(&self) {
        self.waker.wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Count(std::sync::atomic::AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn only_what_was_woken_is_polled() {
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut cx = Context::from_waker(&waker);
        let mut set = WakeSet::new();
        let (first, second) = (set.insert('a'), set.insert('b'));
        let mut wakers = Vec::new();
        while let Some(taken) = set.take_woken(&mut cx) {
            wakers.push(taken.waker());
            set.put_back(taken);
        }
        assert_eq!(wakers.len(), 2);
        assert_eq!(count.0.load(Ordering::Relaxed), 0);

        wakers[1].wake_by_ref();
        wakers[1].wake_by_ref();
        assert_eq!(count.0.load(Ordering::Relaxed), 1, "the task is woken once");
        let taken = set.take_woken(&mut cx).unwrap();
        assert_eq!((taken.key, taken.item), (second, 'b'));
        taken.wake();
        set.put_back(taken);
        assert_eq!(set.take_woken(&mut cx).map(|taken| taken.item), Some('b'));
        assert!(set.take_woken(&mut cx).is_none(), "it was not put back");

        assert!(set.take_woken(&mut cx).is_none());
        let woken = count.0.load(Ordering::Relaxed);
        assert_eq!(set.remove(first), Some('a'));
        wakers[0].wake_by_ref();
        assert_eq!(count.0.load(Ordering::Relaxed), woken, "it is gone");
        assert!(set.take_woken(&mut cx).is_none() && set.is_empty());
    }
}
