//! HTTP+SSE, the transport of the first revision: one stream from the server, POSTs to the address that it names
//! (<https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse>).

use http::Uri;
use http::header::{HeaderName, HeaderValue};
use trunkline_transport::Received;
use trunkline_types::{Message, Profile, Revision};

use super::answers::{MAX_JUNK, is_message};
use super::exchange::Step;
use super::failure::{Failure, Refusal};
use super::http::{Goes, Http, Job, Mode, News};
use super::outgoing::Outgoing;
use super::remote::RemoteKind;
use super::said;
use super::sessions::{agreed, version_header};
use super::url::{self, Origin};

/// The state of the stream.
#[derive(Debug, Default)]
pub(super) struct EventLink {
    /// The stream was asked for.
    asked: bool,
    /// Where messages are sent; none until the server has said so.
    address: Option<Uri>,
    profile: Option<&'static Profile>,
    /// How the server refused the newer transport, and the message that it refused.
    instead_of: Option<(Outgoing, Refusal)>,
    junk: usize,
}

impl EventLink {
    pub(super) fn is_ready(&self) -> bool {
        self.address.is_some()
    }

    pub(super) fn wants_stream(&self) -> bool {
        !self.asked
    }

    pub(super) fn address(&self) -> Option<&Uri> {
        self.address.as_ref()
    }

    pub(super) fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        version_header(self.profile).into_iter().collect()
    }
}

impl Http {
    /// Whether a server that refuses `initialize` may be one of the first revision
    /// (<https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#http-sse-transport-2024-11-05>).
    pub(super) fn may_be_http_sse(&self, refusal: &Refusal) -> bool {
        let modern = said::read_error(&refusal.body).is_some_and(|error| error.is_modern());
        self.kind == RemoteKind::Auto && is_other_transport(refusal.status.as_u16()) && !modern
    }

    pub(super) fn try_http_sse(&mut self, initialize: Outgoing, refusal: Refusal) {
        self.mode = Mode::HttpSse(Box::new(EventLink {
            instead_of: Some((initialize.clone(), refusal)),
            ..EventLink::default()
        }));
        self.held.push_front(initialize);
        self.open_event_link();
    }

    pub(super) fn open_event_link(&mut self) {
        if let Mode::HttpSse(link) = &mut self.mode {
            link.asked = true;
            self.run_own(Job::EventLink, None);
        }
    }

    pub(super) fn handle_event_link(&mut self, news: News) -> Goes {
        let Mode::HttpSse(link) = &mut self.mode else {
            return Goes::Over;
        };
        match news {
            News::Step(Step::Opened(_)) => Goes::On,
            News::Step(Step::Event(event)) if link.address.is_none() => {
                if event.event.as_deref() != Some("endpoint") {
                    // Nothing else may come first.
                    let kind = event.event.as_deref().unwrap_or("message");
                    let why = format!("its stream begins with an event {kind:?} instead of \"endpoint\"");
                    return self.no_event_link(Failure::broken(why));
                }
                match endpoint(&self.url, &event.data) {
                    Ok(address) => {
                        link.address = Some(address);
                        link.instead_of = None;
                        self.start_held();
                        Goes::On
                    }
                    Err(why) => self.no_event_link(Failure::broken(why)),
                }
            }
            News::Step(Step::Event(event)) => {
                if is_message(&event) {
                    if link.profile.is_none() {
                        link.profile = agreed(&event.data).map(Revision::profile);
                    }
                    link.junk = if Message::parse(&event.data).is_ok() {
                        0
                    } else {
                        link.junk + 1
                    };
                    self.ready.push_back(Received::Message(event.data));
                    if link.junk > MAX_JUNK {
                        return self.end_event_link(format!("{MAX_JUNK} events in a row were no messages"));
                    }
                }
                Goes::On
            }
            News::Step(Step::TooLong(start)) => {
                self.received_too_long(start);
                Goes::On
            }
            News::Step(Step::Refused(refusal)) => self.no_event_link(refusal.failure()),
            News::Step(Step::Failed(failure)) => self.no_event_link(failure),
            News::Step(Step::Ended(why)) => {
                let why = why.unwrap_or_else(|| "the server ended its stream of events".to_owned());
                if link.address.is_none() {
                    return self.no_event_link(Failure::broken(why));
                }
                self.end_event_link(why)
            }
            News::Step(Step::Whole(_)) | News::Due => Goes::Over,
        }
    }

    /// The server is none of the first revision: what waits was not sent.
    fn no_event_link(&mut self, failure: Failure) -> Goes {
        let Mode::HttpSse(link) = &mut self.mode else {
            return Goes::Over;
        };
        if let Some((initialize, refusal)) = link.instead_of.take() {
            // It speaks the newer transport, then, and what it said first counts.
            self.mode = Mode::Stateless;
            self.held.retain(|held| held.request_id() != initialize.request_id());
            self.refused_after_all(&initialize, &refusal, &failure);
            // A modern server may have answered the probe late, and been asked for more meanwhile.
            self.start_held();
            return Goes::Over;
        }
        // The next message asks for the stream again.
        link.asked = false;
        let mut failure = Failure {
            may_have_run: false,
            ..failure
        };
        if failure.status.is_some_and(is_other_transport) {
            failure.why.push_str("; only HTTP+SSE was tried, not Streamable HTTP");
        }
        for outgoing in std::mem::take(&mut self.held) {
            self.undeliver(&outgoing, failure.clone());
        }
        Goes::Over
    }

    fn refused_after_all(&mut self, initialize: &Outgoing, refusal: &Refusal, failure: &Failure) {
        if let (Some(error), Some(id)) = (said::read_error(&refusal.body), initialize.request_id()) {
            let answer = trunkline_types::encode::error(Some(id), &error);
            self.ready.push_back(Received::Message(answer.into()));
            return;
        }
        let mut refused = refusal.failure();
        let also = if failure.status.is_some_and(is_other_transport) {
            "it does not speak HTTP+SSE either".to_owned()
        } else {
            format!("it does not speak HTTP+SSE either ({})", failure.why)
        };
        refused.why = format!("{}; {also}", refused.why);
        self.undeliver(initialize, refused);
    }

    /// The stream was the connection.
    fn end_event_link(&mut self, why: String) -> Goes {
        self.ended.get_or_insert(why);
        Goes::Over
    }
}

/// The statuses by which a server answers that speaks another transport at this address, or none.
pub(super) fn is_other_transport(status: u16) -> bool {
    matches!(status, 400 | 404 | 405)
}

/// Where messages are to be sent. Another origin could be somebody else, who would get our headers.
fn endpoint(stream: &Uri, data: &[u8]) -> Result<Uri, String> {
    let text = String::from_utf8_lossy(data);
    let shown = trunkline_types::clip(url::without_secrets(&text));
    let address = url::resolve(stream, &text)
        .map_err(|why| format!("it names {shown:?} as the address for messages, which cannot be used: {why}"))?;
    if Origin::of(&address) != Origin::of(stream) {
        return Err(format!(
            "it names {shown:?} as the address for messages, which belongs to another origin"
        ));
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_go_to_the_same_origin_only() {
        let stream: Uri = "http://127.0.0.1:8000/sse".parse().unwrap();
        let of = |text: &str| endpoint(&stream, text.as_bytes()).map(|url| url.to_string());
        assert_eq!(
            of("/messages?sessionId=1").unwrap(),
            "http://127.0.0.1:8000/messages?sessionId=1"
        );
        assert_eq!(of("http://127.0.0.1:8000/m").unwrap(), "http://127.0.0.1:8000/m");
        for other in [
            "http://127.0.0.1:8001/m",
            "https://127.0.0.1:8000/m",
            "//evil.example/m",
            "http://localhost:8000/m",
        ] {
            assert!(of(other).unwrap_err().contains("another origin"), "{other}");
        }
        assert!(of("ftp:x").is_err());
        for hidden in [
            "//evil.example/m?key=secret",
            "//kim:secret@evil.example/m",
            "http://kim:secret@evil.example/m",
        ] {
            let said = of(hidden).unwrap_err();
            assert!(said.contains("evil.example/m") && !said.contains("secret"), "{said}");
        }
    }
}
