//! A server that asks the person in the middle of a call.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use trunkline_gate::client::Inputs;
use trunkline_gate::client::types::{
    ClientCapabilities, ElicitParams, ElicitResult, ElicitationCapability, ErrorObject,
};
use trunkline_gate::{Gate, Outcome, Proposal, ServerSpec, Trust};

use crate::nothing;
use crate::peer::{Peer, Reply, tool};

/// How long a call may stay without a sign.
const WAIT: Duration = Duration::from_secs(2);

/// Somebody who reads a form before they fill it in.
struct Reader(Duration);

impl Inputs for Reader {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities {
            elicitation: Some(ElicitationCapability::default()),
            ..ClientCapabilities::default()
        }
    }

    async fn elicit(&self, _: ElicitParams) -> Result<ElicitResult, ErrorObject> {
        tokio::time::sleep(self.0).await;
        Ok(ElicitResult::decline())
    }
}

/// Asks as soon as it is called, and answers the call once it has an answer, or never.
fn asks(then_answers: bool) -> Peer {
    let mut call = json!(null);
    Peer::new(json!([tool("t", true)]), move |method, message| match method {
        "tools/call" => {
            call = message["id"].clone();
            let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
            let form = json!({ "message": "Your name?", "requestedSchema": schema });
            let ask = json!({ "jsonrpc": "2.0", "id": "form", "method": "elicitation/create", "params": form });
            Some(Reply::Raw(vec![ask.to_string()]))
        }
        "answer" if then_answers => {
            let result = json!({ "content": [{ "type": "text", "text": message["result"]["action"] }] });
            let answer = json!({ "jsonrpc": "2.0", "id": call, "result": result });
            Some(Reply::Raw(vec![answer.to_string()]))
        }
        _ => None,
    })
}

async fn gate(peer: Peer, reads: Duration) -> Gate {
    let spec = ServerSpec::new("s", peer.start().inputs(Reader(reads)));
    Gate::builder()
        .server(spec.trust(Trust::Trusted).wait(WAIT))
        .connect()
        .await
}

#[tokio::test(start_paused = true)]
async fn a_call_does_not_run_out_of_time_while_a_person_fills_in_its_form() {
    // Longer than the wait for a sign, and longer than the wait in all.
    for reads in [2 * WAIT, 30 * WAIT] {
        let gate = gate(asks(true), reads).await;
        let outcome = gate.call(Proposal::new("s__t", nothing())).await.outcome;
        let Outcome::Answered(answer) = &outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(answer.text, "decline");
    }
}

#[tokio::test(start_paused = true)]
async fn once_the_form_is_filled_in_the_wait_goes_on() {
    let gate = gate(asks(false), 30 * WAIT).await;
    let began = Instant::now();
    let outcome = gate.call(Proposal::new("s__t", nothing())).await.outcome;
    assert!(matches!(outcome, Outcome::Unknown { .. }), "{outcome:?}");
    let waited = began.elapsed();
    assert!(
        (30 * WAIT + WAIT / 2..32 * WAIT).contains(&waited),
        "{waited:?} with the form"
    );
}
