//! Sends an approved call and waits for its one answer.

use std::cell::LazyCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::Instant;
use trunkline_client::{Call, CallError, CallOptions, Noise, NoiseReason};

use super::unknown::{NOT_AGAIN, Unknown};
use super::verify::Received;
use super::{Approved, DecidedBy, ToolCall};
use crate::catalogue::{Catalogue, OfferedTool};
use crate::server::Server;
use crate::text::one_line;
use crate::watch::{News, Watch};

/// How long an approval may wait to be used.
pub const APPROVAL_LASTS: Duration = Duration::from_secs(300);

/// How often a server is looked at for noise while a call runs.
const LOOK: Duration = Duration::from_millis(100);

/// How long the right answer may take after one with a wrong id.
const AFTER_STRAY: Duration = Duration::from_millis(500);

/// What a call is made with.
pub(crate) struct Means<'a> {
    pub(crate) catalogue: &'a Catalogue,
    /// None where the server is not connected.
    pub(crate) server: Option<&'a Server>,
    pub(crate) unknown: &'a Unknown,
    pub(crate) watch: &'a dyn Watch,
}

/// Makes the call. The approval is used up.
///
/// # Errors
/// Why the approval is void: it is too old, the tool is not the same any more, or the same call was made meanwhile and
/// nobody knows how it ended. Nothing is sent then.
pub(crate) async fn execute(approved: Approved<ToolCall>, means: Means<'_>) -> Result<Received, String> {
    let approved_by = approved.decision.by;
    let call = approved.value;
    let tool = call.tool();
    if approved.at.elapsed() > APPROVAL_LASTS {
        return Err("the approval is too old; ask again".to_owned());
    }
    let Some(server) = means.server else {
        return Ok(Err(CallError::Closed { diagnosis: None }));
    };
    // A person may have taken minutes to say yes; a rule decides within the step that read the list.
    if approved_by == DecidedBy::Person {
        server.refresh(tool.server(), tool.trust()).await?;
    }
    let current = server.changes.current();
    let now = current.as_deref().unwrap_or(means.catalogue).get(tool.name());
    if now.map(|now| now.hash()) != Some(tool.hash()) {
        return Err("the tool's definition has changed since the call was approved; ask again".to_owned());
    }
    let options = CallOptions {
        timeouts: Some(server.timeouts),
        progress: true,
        ..CallOptions::default()
    };
    let in_flight = means.unknown.begin(&call).ok_or(NOT_AGAIN)?;
    let _counted = Counted::new(&server.calls);
    let ToolCall { tool, arguments, .. } = call;
    let running = server.client.request_call(&tool.definition().name, arguments, options);
    let result = server.learn(wait(running, server, &tool, means.watch).await);
    match &result {
        Err(error) if error.may_have_run() && !matches!(error, CallError::Mismatch(_)) => drop(in_flight),
        _ => in_flight.settle(),
    }
    Ok(result)
}

/// Waits for the answer and passes progress and noise on.
async fn wait(mut running: Call, server: &Server, tool: &OfferedTool, watch: &dyn Watch) -> Received {
    let mut noise = Noises::new(server);
    let mut stray = None;
    let began = Instant::now();
    let mut seconds = 0;
    // Most calls have nothing to tell.
    let of = LazyCell::new(|| one_line(tool.server(), 100));
    let name = LazyCell::new(|| one_line(&tool.definition().name, 100));
    loop {
        tokio::select! {
            biased;
            progress = running.progress() => {
                let Some(progress) = progress else { break };
                watch.news(&News::Progress {
                    server: of.clone(),
                    tool: name.clone(),
                    progress: progress.progress.as_f64().unwrap_or_default(),
                    total: progress.total.and_then(|total| total.as_f64()),
                    message: progress.message.map(|message| one_line(&message, 200)),
                });
            }
            () = tokio::time::sleep(LOOK) => {
                if began.elapsed().as_secs() > seconds {
                    seconds = began.elapsed().as_secs();
                    watch.news(&News::Running { server: of.clone(), tool: name.clone(), seconds });
                }
                for noise in noise.take(server) {
                    watch.news(&News::Noise {
                        server: of.clone(),
                        text: one_line(&noise.to_string(), 300),
                    });
                    // With one call in flight there is only one that it can have been meant for.
                    if is_stray(&noise) && server.calls.load(Ordering::Relaxed) == 1 {
                        stray = Some((Instant::now(), noise));
                    }
                }
                if let Some((since, noise)) = &stray && since.elapsed() > AFTER_STRAY {
                    return Err(CallError::Invalid(under_another_id(noise)));
                }
            }
        }
    }
    let result = running.await;
    for noise in noise.take(server) {
        watch.news(&News::Noise {
            server: of.clone(),
            text: one_line(&noise.to_string(), 300),
        });
    }
    result.map(Into::into)
}

/// Whether it is an answer that belongs to no request.
fn is_stray(noise: &Noise) -> bool {
    matches!(noise.reason, NoiseReason::UnknownId | NoiseReason::WrongIdType(_))
}

fn under_another_id(noise: &Noise) -> String {
    let came = one_line(&noise.text, 80);
    match &noise.reason {
        NoiseReason::WrongIdType(wanted) => {
            format!("it came under the id {came} of another JSON type than that of request {wanted}")
        }
        _ => format!("it came under the id {came}, which no request has"),
    }
}

/// The noise of one connection that was not told yet.
struct Noises {
    told: u64,
}

impl Noises {
    fn new(server: &Server) -> Self {
        Self {
            told: server.client.noise().count,
        }
    }

    fn take(&mut self, server: &Server) -> Vec<Noise> {
        let report = server.client.noise();
        let new = usize::try_from(report.count - self.told).unwrap_or(usize::MAX);
        self.told = report.count;
        let skip = report.last.len().saturating_sub(new);
        report.last.into_iter().skip(skip).collect()
    }
}

/// A call in flight, counted as long as it lasts.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
