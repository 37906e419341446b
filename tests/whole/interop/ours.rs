//! Our client, as it drives their servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use trunkline::types::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitParams, ElicitResult, ErrorObject, Extra, Root,
    form_defaults,
};
use trunkline::{Client, Connector, Inputs};

/// How long something that must come is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// Answers whatever a server may ask, and counts.
#[derive(Default)]
pub(super) struct Answers {
    pub(super) forms: AtomicUsize,
    pub(super) visits: AtomicUsize,
    pub(super) samples: AtomicUsize,
}

pub(super) struct Given(pub(super) Arc<Answers>);

impl Inputs for Given {
    fn capabilities(&self) -> ClientCapabilities {
        serde_json::from_value(json!({
            "elicitation": { "form": {}, "url": {} }, "sampling": {}, "roots": { "listChanged": true }
        }))
        .unwrap()
    }

    async fn elicit(&self, question: ElicitParams) -> Result<ElicitResult, ErrorObject> {
        match question {
            ElicitParams::Form(form) => {
                self.0.forms.fetch_add(1, Ordering::SeqCst);
                let mut fields = form_defaults(&form.requested_schema);
                fields.insert("name".into(), json!("Ann"));
                fields.insert("confirm".into(), json!(true));
                Ok(ElicitResult::accept(fields))
            }
            ElicitParams::Url(_) => {
                self.0.visits.fetch_add(1, Ordering::SeqCst);
                Ok(ElicitResult::accept(Extra::new()))
            }
            ElicitParams::Other(_) => Ok(ElicitResult::decline()),
        }
    }

    async fn sample(&self, question: CreateMessageParams) -> Result<CreateMessageResult, ErrorObject> {
        self.0.samples.fetch_add(1, Ordering::SeqCst);
        assert!(question.max_tokens > 0);
        Ok(CreateMessageResult::text("a-model", "an answer of the model"))
    }

    async fn roots(&self) -> Result<Vec<Root>, ErrorObject> {
        Ok(vec![Root::new("file:///a/root")])
    }
}

pub(super) async fn connect(connector: Connector) -> Client {
    // Node and Python take their time to start on a loaded machine.
    connector
        .probe(Duration::from_secs(30))
        .handshake(Duration::from_secs(60))
        .connect()
        .await
        .unwrap()
}

/// The text of a call that went well.
pub(super) async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    let called = client
        .call(tool, &arguments)
        .await
        .unwrap_or_else(|error| panic!("{tool}: {error}"));
    assert!(!called.failed(), "{tool}: {}", called.text());
    called.text()
}
