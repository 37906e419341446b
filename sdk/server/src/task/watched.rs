//! The tasks that one connection listens to
//! ([notifications](https://modelcontextprotocol.io/seps/2663-tasks-extension#task-status-notifications)).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::broadcast;
use trunkline_types::Task;

use super::{TaskChange, Tasks};
use crate::BoxFuture;

/// What a connection hears of its tasks, in the order in which they change.
pub(crate) struct WatchedTasks {
    tasks: Arc<Tasks>,
    principal: String,
    watched: BTreeSet<String>,
    next: BoxFuture<Heard>,
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

impl WatchedTasks {
    /// Nothing is listened to yet.
    pub(crate) fn new(tasks: &Arc<Tasks>, principal: &str) -> Self {
        Self {
            tasks: Arc::clone(tasks),
            principal: principal.to_owned(),
            watched: BTreeSet::new(),
            next: Box::pin(hear(tasks.changes.subscribe())),
        }
    }

    /// Listens to these tasks from now on. How those stand that are new among them is told soon.
    pub(crate) fn watch(&mut self, tasks: BTreeSet<String>) {
        let new: BTreeSet<String> = tasks.difference(&self.watched).cloned().collect();
        self.watched = tasks;
        if !new.is_empty() {
            self.tasks.tell_again(&self.principal, new);
        }
    }

    /// How a task stands now, when one has changed.
    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Arc<Task>> {
        loop {
            let (change, changes) = std::task::ready!(self.next.as_mut().poll(cx));
            self.next = Box::pin(hear(changes));
            match change {
                // A task is shown to nobody but its principal
                // (https://modelcontextprotocol.io/seps/2663-tasks-extension#security-implications).
                Some(change) if change.principal == self.principal && self.watched.contains(&change.task.task_id) => {
                    return Poll::Ready(change.task);
                }
                Some(_) => {}
                None => self.tasks.tell_again(&self.principal, self.watched.clone()),
            }
        }
    }
}
