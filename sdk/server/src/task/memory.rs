//! Tasks kept in memory, within bounds.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use trunkline_types::Task;

use super::store::{StoreFuture, TaskStore, TaskStoreError};
use super::support::milliseconds;

/// What a task counts at least, in bytes. So a small change always fits.
const SMALLEST: usize = 4 * 1024;
/// How long what came of a task is kept at least after its end, so that whoever polls can see it. A task
/// that does not end is forgotten so long after its time.
const AFTER_THE_END: Duration = Duration::from_secs(60);

/// Far enough away for any task, near enough for a clock to count.
const AS_GOOD_AS_EVER: Duration = Duration::from_secs(30 * 365 * 24 * 3600);

/// Tasks in the memory of this process, the store to begin with. They end with the process.
///
/// | bound | default |
/// | --- | --- |
/// | tasks | 1024 ([`most_tasks`](Self::most_tasks)) |
/// | tasks of one principal | 1024 ([`most_tasks_each`](Self::most_tasks_each)) |
/// | bytes of all tasks as JSON, each counted as 4 KiB at least | 64 MiB ([`most_bytes`](Self::most_bytes)) |
/// | lifetime of a task that does not say | 1 hour ([`ttl`](Self::ttl)) |
/// | longest lifetime | 24 hours ([`longest_ttl`](Self::longest_ttl)) |
/// | time between two polls | 1 second ([`poll_interval`](Self::poll_interval)) |
///
/// What came of a task is kept until its lifetime is over and for a minute after its end, whichever is later.
/// What is over is dropped when the store is next used; nothing runs meanwhile.
///
/// ```
/// use std::time::Duration;
/// use trunkline_server::InMemoryTasks;
///
/// let store = InMemoryTasks::new().most_tasks(100).ttl(Duration::from_secs(600));
/// ```
#[derive(Debug)]
pub struct InMemoryTasks {
    most_tasks: usize,
    most_tasks_each: usize,
    most_bytes: usize,
    ttl: Duration,
    longest_ttl: Duration,
    poll_interval: Duration,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    entries: HashMap<String, Entry>,
    /// When each is forgotten, soonest first.
    ends: BTreeSet<(Instant, String)>,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    principal: String,
    task: Task,
    born: Instant,
    end: Instant,
    bytes: usize,
}

impl Default for InMemoryTasks {
    fn default() -> Self {
        Self::new()
    }
}

impl InMemoryTasks {
    /// An empty store with the default bounds.
    pub fn new() -> Self {
        Self {
            most_tasks: 1024,
            most_tasks_each: 1024,
            most_bytes: 64 * 1024 * 1024,
            ttl: Duration::from_secs(3600),
            longest_ttl: Duration::from_secs(24 * 3600),
            poll_interval: Duration::from_secs(1),
            kept: Mutex::default(),
        }
    }

    /// How many tasks are kept. Further ones are refused.
    pub fn most_tasks(mut self, count: usize) -> Self {
        self.most_tasks = count;
        self
    }

    /// How many tasks are kept for one principal. Further ones are refused.
    pub fn most_tasks_each(mut self, count: usize) -> Self {
        self.most_tasks_each = count;
        self
    }

    /// How many bytes all tasks may have as JSON. Further ones are refused; a result that would be too much
    /// fails its task.
    pub fn most_bytes(mut self, bytes: usize) -> Self {
        self.most_bytes = bytes;
        self
    }

    /// How long a task is kept that does not say.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }

    /// How long a task is kept at most; at most 30 years.
    pub fn longest_ttl(mut self, ttl: Duration) -> Self {
        self.longest_ttl = ttl.min(AS_GOOD_AS_EVER);
        self
    }

    /// How long a client is to wait between two polls of a task that does not say.
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = interval;
        self
    }

    /// How many tasks are kept now.
    pub fn len(&self) -> usize {
        self.kept().entries.len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What is kept, without what is over.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        while kept.ends.first().is_some_and(|(end, _)| *end <= now) {
            if let Some((_, id)) = kept.ends.pop_first()
                && let Some(entry) = kept.entries.remove(&id)
            {
                kept.bytes -= entry.bytes;
            }
        }
        kept
    }

    /// Bounds a task's lifetime, and tells when it is forgotten.
    fn bound_life(&self, task: &mut Task, born: Instant) -> Instant {
        let wanted = task.ttl_ms.map_or(self.ttl, Duration::from_millis);
        let lifetime = wanted.min(self.longest_ttl);
        task.ttl_ms = Some(milliseconds(lifetime));
        let over = born + lifetime;
        if task.state.is_terminal() {
            over.max(Instant::now() + AFTER_THE_END)
        } else {
            over + AFTER_THE_END
        }
    }

    fn keep(&self, principal: &str, mut task: Task) -> Result<Task, TaskStoreError> {
        let born = Instant::now();
        let end = self.bound_life(&mut task, born);
        task.poll_interval_ms
            .get_or_insert_with(|| milliseconds(self.poll_interval));
        let bytes = size(&task)?;
        let mut kept = self.kept();
        let own = kept
            .entries
            .values()
            .filter(|entry| entry.principal == principal)
            .count();
        for (count, most, whose) in [
            (kept.entries.len(), self.most_tasks, "in all"),
            (own, self.most_tasks_each, "for one client"),
        ] {
            if count >= most {
                return Err(TaskStoreError::Full(format!("{most} are kept {whose}")));
            }
        }
        self.check_bytes(kept.bytes + bytes)?;
        if kept.entries.contains_key(&task.task_id) {
            return Err(TaskStoreError::Failed("the id is taken".to_owned()));
        }
        kept.bytes += bytes;
        kept.ends.insert((end, task.task_id.clone()));
        let entry = Entry {
            principal: principal.to_owned(),
            task: task.clone(),
            born,
            end,
            bytes,
        };
        kept.entries.insert(task.task_id.clone(), entry);
        Ok(task)
    }

    fn check_bytes(&self, bytes: usize) -> Result<(), TaskStoreError> {
        if bytes > self.most_bytes {
            return Err(TaskStoreError::Full(format!(
                "they may have {} bytes together",
                self.most_bytes
            )));
        }
        Ok(())
    }

    fn find(&self, principal: &str, id: &str) -> Result<Task, TaskStoreError> {
        let kept = self.kept();
        let entry = kept.entries.get(id).filter(|entry| entry.principal == principal);
        entry.map(|entry| entry.task.clone()).ok_or(TaskStoreError::Unknown)
    }

    fn replace(&self, principal: &str, mut task: Task) -> Result<(), TaskStoreError> {
        let mut kept = self.kept();
        let all = kept.bytes;
        let entry = kept
            .entries
            .get_mut(&task.task_id)
            .filter(|entry| entry.principal == principal)
            .ok_or(TaskStoreError::Unknown)?;
        if entry.task.state.is_terminal() {
            return Err(TaskStoreError::Ended);
        }
        let new_end = self.bound_life(&mut task, entry.born);
        let (before, bytes) = (entry.bytes, size(&task)?);
        if bytes > before {
            self.check_bytes(all - before + bytes)?;
        }
        let (id, old_end) = (task.task_id.clone(), entry.end);
        (entry.task, entry.end, entry.bytes) = (task, new_end, bytes);
        kept.bytes = all - before + bytes;
        kept.ends.remove(&(old_end, id.clone()));
        kept.ends.insert((new_end, id));
        Ok(())
    }
}

/// What a task counts.
fn size(task: &Task) -> Result<usize, TaskStoreError> {
    let text = serde_json::to_vec(task).map_err(|error| TaskStoreError::Failed(error.to_string()))?;
    Ok(text.len().max(SMALLEST))
}

impl TaskStore for InMemoryTasks {
    fn create<'a>(&'a self, principal: &'a str, task: Task) -> StoreFuture<'a, Task> {
        Box::pin(async move { self.keep(principal, task) })
    }

    fn get<'a>(&'a self, principal: &'a str, id: &'a str) -> StoreFuture<'a, Task> {
        Box::pin(async move { self.find(principal, id) })
    }

    fn update<'a>(&'a self, principal: &'a str, task: Task) -> StoreFuture<'a, ()> {
        Box::pin(async move { self.replace(principal, task) })
    }
}
