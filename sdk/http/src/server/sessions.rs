//! The legacy sessions of an endpoint.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::session::{Session, Streams};
use super::session_id::SessionId;

/// Why no further session is opened.
pub(super) const FULL: &str = "there are too many sessions; end those that are not needed, or come back later";
/// How often sessions are looked at that may be over.
const ROUND: Duration = Duration::from_secs(5);

/// A session that was used in so short a time makes no room for another.
const SPARED: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub(super) struct Sessions {
    most: usize,
    idle: Duration,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    sessions: HashMap<SessionId, Arc<Session>>,
    /// Whether a task looks at them in turn. There is none while there is no session.
    is_watched: bool,
}

impl Sessions {
    pub(super) fn new(most: usize, idle: Duration) -> Self {
        Self {
            most,
            idle,
            table: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn len(&self) -> usize {
        self.lock().sessions.len()
    }

    /// Whether there is room for one more. The session that nobody has used for longest makes room, if that was a
    /// while ago: who opens sessions and leaves them must not keep others out.
    pub(super) fn has_room(&self) -> bool {
        let unused = {
            let table = self.lock();
            if table.sessions.len() < self.most {
                return true;
            }
            let unused = |session: &Arc<Session>| Some((session.unused_for()?, session.id));
            table
                .sessions
                .values()
                .filter_map(unused)
                .max_by_key(|(since, _)| *since)
        };
        match unused {
            Some((since, id)) if since >= SPARED => self.close(id),
            _ => return false,
        }
        true
    }

    /// Keeps a session. False if there are too many.
    pub(super) fn open(self: &Arc<Self>, session: Arc<Session>) -> bool {
        if !self.has_room() {
            return false;
        }
        let mut table = self.lock();
        // Another one may have taken the room.
        if table.sessions.len() >= self.most {
            return false;
        }
        table.sessions.insert(session.id, session);
        if !std::mem::replace(&mut table.is_watched, true) {
            tokio::spawn(watch(Arc::downgrade(self)));
        }
        true
    }

    /// The session of that id, if it is this principal's and of this transport.
    pub(super) fn find(&self, id: SessionId, principal: &str, streams: Streams) -> Option<Arc<Session>> {
        let table = self.lock();
        table
            .sessions
            .get(&id)
            .filter(|session| session.principal == principal && session.streams() == streams)
            .cloned()
    }

    /// Ends a session.
    pub(super) fn close(&self, id: SessionId) {
        let session = self.lock().sessions.remove(&id);
        if let Some(session) = session {
            session.end();
        }
    }

    /// Ends all of them.
    pub(super) fn close_all(&self) {
        let sessions = std::mem::take(&mut self.lock().sessions);
        for session in sessions.into_values() {
            session.end();
        }
    }

    /// Looks at every session. False if none is left, and nobody looks any more.
    fn look(&self) -> bool {
        let all: Vec<Arc<Session>> = self.lock().sessions.values().cloned().collect();
        for session in all.iter().filter(|session| !session.tick(self.idle)) {
            self.close(session.id);
        }
        drop(all);
        let mut table = self.lock();
        // What a burst of clients took is given back.
        if table.sessions.len() < table.sessions.capacity() / 4 {
            table.sessions.shrink_to_fit();
        }
        table.is_watched = !table.sessions.is_empty();
        table.is_watched
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        self.close_all();
    }
}

/// Looks at the sessions in turn as long as there are any.
async fn watch(sessions: Weak<Sessions>) {
    loop {
        tokio::time::sleep(ROUND).await;
        let Some(sessions) = sessions.upgrade() else { return };
        if !sessions.look() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use trunkline_proto::server::Config;

    use super::super::budget::Budget;
    use super::*;

    #[test]
    fn the_bound_holds_however_many_open_sessions_at_once() {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        for _ in 0..50 {
            let sessions = Arc::new(Sessions::new(5, ROUND));
            let opened: usize = std::thread::scope(|scope| {
                let openers: Vec<_> = (0..8)
                    .map(|_| {
                        scope.spawn(|| {
                            let _entered = runtime.enter();
                            (0..4).filter(|_| sessions.open(session())).count()
                        })
                    })
                    .collect();
                openers.into_iter().map(|opener| opener.join().unwrap()).sum()
            });
            assert_eq!((opened, sessions.len()), (5, 5));
        }
    }

    fn session() -> Arc<Session> {
        let (config, budget) = (Arc::new(Config::new("s", "1")), Arc::new(Budget::new(0)));
        let id = SessionId::random().unwrap();
        Session::new(id, String::new(), config, Streams::Several, budget, ROUND)
    }
}
