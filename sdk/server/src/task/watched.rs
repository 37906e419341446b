//! The tasks that one connection listens to
//! ([notifications](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-status-notifications)).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::sync::broadcast;
use trunkline_types::Task;

use super::{TaskChange, Tasks};
use crate::BoxFuture;

/// What a connection hears of its tasks.
///
/// The channel says that a task has changed; how it stands is read from the store when it is told, one task
/// after the other. So each is told as `tasks/get` would tell it at that moment, never an older state after a
/// newer one, and telling anew after a lag puts nothing into the channel that could make it lag again.
pub(crate) struct WatchedTasks {
    tasks: Arc<Tasks>,
    principal: String,
    watched: BTreeSet<String>,
    /// Those of them that changed since they were told last.
    untold: BTreeSet<String>,
    next: BoxFuture<Heard>,
    reading: Option<BoxFuture<Option<Task>>>,
}

/// A change, or none if some were missed.
type Heard = (Option<TaskChange>, broadcast::Receiver<TaskChange>);

async fn hear(mut changes: broadcast::Receiver<TaskChange>) -> Heard {
    match changes.recv().await {
        Ok(change) => (Some(change), changes),
        Err(broadcast::error::RecvError::Lagged(_)) => {
            let changes = changes.resubscribe();
            (None, changes)
        }
        // The tasks are held here.
        Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
    }
}

/// How a task stands; none if it is unknown, or cannot be read: it is a notice, and `tasks/get` says why.
async fn read(tasks: Arc<Tasks>, principal: String, id: String) -> Option<Task> {
    tasks.store.get(&principal, &id).await.ok()
}

impl WatchedTasks {
    /// Nothing is listened to yet.
    pub(crate) fn new(tasks: &Arc<Tasks>, principal: &str) -> Self {
        Self {
            tasks: Arc::clone(tasks),
            principal: principal.to_owned(),
            watched: BTreeSet::new(),
            untold: BTreeSet::new(),
            next: Box::pin(hear(tasks.changes.subscribe())),
            reading: None,
        }
    }

    /// Listens to these tasks from now on. How those stand that a stream begins with is told when this is next
    /// polled, which whoever calls it must see to.
    pub(crate) fn watch(&mut self, all: BTreeSet<String>, begun: BTreeSet<String>) {
        self.watched = all;
        self.untold.extend(begun);
        self.untold.retain(|id| self.watched.contains(id));
    }

    /// How a task stands now, when one has changed.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Arc<Task>> {
        loop {
            while let Poll::Ready((change, changes)) = self.next.as_mut().poll(cx) {
                self.next = Box::pin(hear(changes));
                self.note(change);
            }
            if self.reading.is_none()
                && let Some(id) = self.untold.pop_first()
            {
                let read = read(Arc::clone(&self.tasks), self.principal.clone(), id);
                self.reading = Some(Box::pin(read));
            }
            let Some(reading) = &mut self.reading else {
                return Poll::Pending;
            };
            let task = ready!(reading.as_mut().poll(cx));
            self.reading = None;
            if let Some(task) = task.filter(|task| self.watched.contains(&task.task_id)) {
                return Poll::Ready(Arc::new(task));
            }
        }
    }

    fn note(&mut self, change: Option<TaskChange>) {
        match change {
            // A task is shown to nobody but its principal
            // (https://modelcontextprotocol.io/seps/2663-tasks-extension#security-implications).
            Some(change) if change.principal == self.principal && self.watched.contains(&change.id) => {
                self.untold.insert(change.id);
            }
            Some(_) => {}
            None => self.untold.clone_from(&self.watched),
        }
    }
}
