use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;
use std::time::Duration;

use trunkline_proto::server::Config;
use trunkline_types::{ListCapability, Revision, ServerCapabilities};

use super::super::application::Changes;
use super::super::budget::Budget;
use super::super::options::Options;
use super::super::session::Streams;
use super::super::session_id::SessionId;
use super::super::stream::Begin;
use super::*;
use crate::header::MirroredParams;

/// Counts what it is asked to begin, and never ends it.
#[derive(Debug, Default)]
struct Endless {
    begun: AtomicUsize,
    running: Arc<Mutex<usize>>,
}

struct Counted(Arc<Mutex<usize>>);

impl Drop for Counted {
    fn drop(&mut self) {
        *self.0.lock().unwrap() -= 1;
    }
}

impl Application for Endless {
    fn config(&self) -> Arc<Config> {
        let capabilities = ServerCapabilities {
            tools: Some(ListCapability::default()),
            ..ServerCapabilities::default()
        };
        Arc::new(Config {
            capabilities,
            ..Config::new("endless", "1")
        })
    }

    fn answer(&self, _: ApplicationRequest) -> super::super::application::Answering {
        self.begun.fetch_add(1, Ordering::Relaxed);
        *self.running.lock().unwrap() += 1;
        let counted = Counted(Arc::clone(&self.running));
        Box::pin(async move {
            let _counted = counted;
            std::future::pending().await
        })
    }

    fn changes(&self) -> Box<dyn Changes> {
        unreachable!("nobody listens here")
    }

    fn mirrored(&self, _: &str) -> Option<Arc<MirroredParams>> {
        None
    }
}

/// A session in which the handshake is done.
fn session(application: &Endless) -> Arc<Session> {
    let id = SessionId::random().unwrap();
    let budget = Arc::new(Budget::new(1024));
    let session = Session::new(
        id,
        String::new(),
        application.config(),
        Streams::Several,
        budget,
        Duration::from_secs(1),
    );
    let opening = format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{}","capabilities":{{}},
        "clientInfo":{{"name":"c","version":"1"}}}}}}"#,
        Revision::LATEST_LEGACY
    );
    assert!(matches!(session.take(None, opening.as_bytes()), Taken::Answered(_)));
    session
}

const CALL: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}"#;
const CANCEL: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;

fn accepted(session: &Arc<Session>) -> (Arc<Stream>, Accepted<'static>) {
    match session.take(None, CALL) {
        Taken::Requests(stream, mut requests) => (stream, requests.remove(0)),
        other => panic!("{other:?}"),
    }
}

/// A cancellation that comes by another connection, between two lines of the code that starts the request.
#[tokio::test]
async fn what_is_cancelled_before_it_starts_never_starts_and_ends() {
    let application = Endless::default();
    let session = session(&application);
    let (stream, request) = accepted(&session);
    session.take(None, CANCEL);
    // Its id is free at once, and the new request is not the old one.
    let (successor, next) = accepted(&session);
    let cx = &mut Context::from_waker(Waker::noop());
    session.start(cx, &application, request, &stream);
    assert_eq!(application.begun.load(Ordering::Relaxed), 0);
    assert_eq!(stream.begin(&Options::default()).await, Begin::Nothing);
    session.start(cx, &application, next, &successor);
    assert_eq!(application.begun.load(Ordering::Relaxed), 1);
    assert_eq!(successor.closed_since(), None);
    session.end();
}

#[tokio::test]
async fn what_starts_in_a_session_that_ended_meanwhile_never_starts_and_ends() {
    let application = Endless::default();
    let session = session(&application);
    let (stream, request) = accepted(&session);
    session.end();
    session.start(&mut Context::from_waker(Waker::noop()), &application, request, &stream);
    assert_eq!(application.begun.load(Ordering::Relaxed), 0);
    assert_eq!(stream.begin(&Options::default()).await, Begin::Nothing);
    assert!(matches!(session.take(None, CALL), Taken::Refused(_)));
}

#[tokio::test]
async fn the_end_of_a_session_stops_every_task() {
    let application = Endless::default();
    let session = session(&application);
    for id in 0..10 {
        let call = String::from_utf8_lossy(CALL).replace("\"id\":1", &format!("\"id\":{id}"));
        let Taken::Requests(stream, mut requests) = session.take(None, call.as_bytes()) else {
            panic!("{call}")
        };
        let request = requests.remove(0);
        session.start(&mut Context::from_waker(Waker::noop()), &application, request, &stream);
    }
    assert_eq!(*application.running.lock().unwrap(), 10);
    session.end();
    while *application.running.lock().unwrap() > 0 {
        tokio::task::yield_now().await;
    }
}
