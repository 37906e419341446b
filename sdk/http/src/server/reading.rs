//! Reading the body of a request: bounded in bytes and in time, alone and together with all others.

use bytes::{Bytes, BytesMut};
use http::StatusCode;
use http_body_util::BodyExt;
use tokio::time::Instant;

use super::budget::Budget;
use super::options::Options;
use super::reply::Refusal;

/// After so many bytes of a body, it has its time once more.
const PART: usize = 64 * 1024;

/// What was read of a body that is not whole.
struct Held<'a> {
    budget: &'a Budget,
    bytes: usize,
}

impl Held<'_> {
    fn add(&mut self, bytes: usize) {
        self.budget.take(bytes);
        self.bytes += bytes;
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.budget.give_back(self.bytes);
    }
}

/// Reads a body whole.
pub(super) async fn read_body<B>(body: B, options: &Options, budget: &Budget) -> Result<Bytes, Refusal>
where
    B: http_body::Body<Data = Bytes>,
{
    let most = options.max_message;
    let too_large = || {
        let why = format!("a message may have at most {most} bytes");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, why)
    };
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    let mut body = std::pin::pin!(body);
    let mut held = Held { budget, bytes: 0 };
    let (mut deadline, mut due) = (Instant::now() + options.body_wait, PART);
    // Most bodies come in one piece, which is not copied.
    let mut whole = Bytes::new();
    let mut joined = BytesMut::new();
    loop {
        let frame = match tokio::time::timeout_at(deadline, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => break,
            Ok(Some(Err(_))) => {
                return Err(Refusal::new(StatusCode::BAD_REQUEST, "the body broke off"));
            }
            Err(_) => {
                let why = "the body did not come in time";
                return Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, why));
            }
        };
        let Ok(piece) = frame.into_data() else { continue };
        held.add(piece.len());
        if held.bytes > most {
            return Err(too_large());
        }
        if budget.is_over() {
            let why = "too much is being received; come back later";
            return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, why));
        }
        if held.bytes >= due {
            (deadline, due) = (Instant::now() + options.body_wait, held.bytes + PART);
        }
        if whole.is_empty() && joined.is_empty() {
            whole = piece;
            continue;
        }
        if joined.is_empty() {
            joined.extend_from_slice(&std::mem::take(&mut whole));
        }
        joined.extend_from_slice(&piece);
    }
    Ok(if joined.is_empty() { whole } else { joined.freeze() })
}
