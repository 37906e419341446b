//! The tools that ask a person first, in both eras: what is asked, and what each answer does.

use super::*;
use crate::Status;
use crate::answers::Order;
use trunkline_testkit::BOTH;

/// A tool call that may ask: a request of the server's (legacy), or a result that asks (modern).
struct Call {
    params: Value,
    id: u64,
    reply: Value,
}

impl Call {
    async fn start(client: &mut LineClient, tool: &str, arguments: Value) -> Self {
        let params = json!({ "name": tool, "arguments": arguments });
        let id = client.start("tools/call", params.clone()).await;
        let reply = client.receive().await;
        Self { params, id, reply }
    }

    /// What the person is shown, if anything.
    fn question(&self) -> Option<Value> {
        if self.reply.get("method").is_some() {
            assert_eq!(self.reply["method"], "elicitation/create");
            return Some(self.reply["params"].clone());
        }
        let asked = self.reply["result"].get("inputRequests")?.as_object().unwrap();
        assert_eq!(self.reply["result"]["resultType"], "input_required");
        let [(_, asked)] = asked.iter().collect::<Vec<_>>()[..] else {
            panic!("{asked:?}")
        };
        assert_eq!(asked["method"], "elicitation/create");
        Some(asked["params"].clone())
    }

    /// The params of a retry with this answer to what was asked.
    fn retry(&self, answer: &Value) -> Value {
        let result = &self.reply["result"];
        let mut params = self.params.clone();
        let asked = result["inputRequests"].as_object().unwrap().keys();
        params["inputResponses"] = asked.map(|key| (key.clone(), answer.clone())).collect();
        params["requestState"] = result["requestState"].clone();
        params
    }

    /// Answers the question; whatever comes next is the reply.
    async fn answer(&mut self, client: &mut LineClient, answer: Value) {
        assert!(self.question().is_some(), "{}", self.reply);
        if client.is_modern() {
            self.id = client.start("tools/call", self.retry(&answer)).await;
        } else {
            let asked = &self.reply["id"];
            client
                .send(json!({ "jsonrpc": "2.0", "id": asked, "result": answer }))
                .await;
        }
        self.reply = client.receive().await;
    }

    fn result(&self) -> &Value {
        assert_eq!(self.reply["id"], self.id, "{}", self.reply);
        assert!(self.reply.get("error").is_none(), "{}", self.reply);
        assert!(self.question().is_none(), "{}", self.reply);
        &self.reply["result"]
    }
}

fn yes() -> Value {
    json!({ "action": "accept", "content": { "confirm": true } })
}

/// Every answer that is not a yes.
fn noes() -> [Value; 3] {
    [
        json!({ "action": "decline" }),
        json!({ "action": "cancel" }),
        json!({ "action": "accept", "content": { "confirm": false } }),
    ]
}

/// Asks as a clerk for an order to be cancelled.
async fn cancel(client: &mut LineClient, arguments: Value) -> Call {
    Call::start(client, "cancel_order", arguments).await
}

fn pay(orders: &Orders, id: i64) -> Order {
    orders
        .lock()
        .execute("UPDATE orders SET status = 'paid' WHERE id = ?1", [id])
        .unwrap();
    orders.find(id).unwrap()
}

#[tokio::test]
async fn a_person_is_asked_exactly_what_will_change_and_a_yes_cancels_the_order() {
    for revision in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let (server, orders) = sample(Role::Clerk);
        let mut client = connect(&server, revision).await;
        let shown = orders.find(2).unwrap();
        let mut call = cancel(&mut client, json!({ "id": 2, "reason": "ordered twice" })).await;
        let question = call.question().unwrap();
        assert_eq!(
            question["message"],
            shown.cancel_question(Some("ordered twice")).unwrap()
        );
        let form = &question["requestedSchema"];
        assert_eq!(
            (&form["type"], &form["required"]),
            (&json!("object"), &json!(["confirm"]))
        );
        let fields = form["properties"].as_object().unwrap();
        assert_eq!((fields.len(), &fields["confirm"]["type"]), (1, &json!("boolean")));
        assert!(fields["confirm"]["description"].is_string());
        assert_eq!(orders.find(2).unwrap(), shown, "nothing happens before the answer");

        call.answer(&mut client, yes()).await;
        let result = call.result();
        let done = &result["structuredContent"];
        assert_eq!(
            (&done["cancelled"], &done["before"], &done["after"]),
            (&json!(true), &json!("new"), &json!("cancelled"))
        );
        assert_eq!(text(result), done["message"].as_str().unwrap());
        let after = orders.find(2).unwrap();
        assert_eq!(after.summary.status, Status::Cancelled);
        assert_eq!(after.cancel_reason.as_deref(), Some("ordered twice"));
    }
}

#[tokio::test]
async fn any_other_answer_changes_nothing_and_is_no_error() {
    for revision in BOTH {
        let (server, orders) = sample(Role::Clerk);
        let mut client = connect(&server, revision).await;
        let before = orders.find(3).unwrap();
        for no in noes() {
            let mut call = cancel(&mut client, json!({ "id": 3 })).await;
            call.answer(&mut client, no.clone()).await;
            let result = call.result();
            assert_ne!(result["isError"], true, "{no}: {result}");
            let kept = &result["structuredContent"];
            assert_eq!(
                (&kept["cancelled"], &kept["after"]),
                (&json!(false), &json!("new")),
                "{no}"
            );
            assert!(text(result).contains("Nothing was changed"), "{no}: {result}");
            assert_eq!(orders.find(3).unwrap(), before, "{no}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_does_not_fit_the_form_is_no_yes() {
    for revision in BOTH {
        let (server, orders) = sample(Role::Clerk);
        let mut client = connect(&server, revision).await;
        for content in [json!({}), json!({ "confirm": "true" }), json!({ "yes": true })] {
            let mut call = cancel(&mut client, json!({ "id": 2 })).await;
            call.answer(&mut client, json!({ "action": "accept", "content": content }))
                .await;
            let said = failure(call.result());
            assert!(
                said.contains("Nothing was changed") && said.contains("confirm"),
                "{said}"
            );
            assert_eq!(orders.find(2).unwrap().summary.status, Status::New, "{content}");
        }
    }
}

#[tokio::test]
async fn an_order_that_cannot_be_cancelled_is_refused_without_a_question() {
    for revision in BOTH {
        let mut client = connect(&sample(Role::Clerk).0, revision).await;
        let call = cancel(&mut client, json!({ "id": 1 })).await;
        assert!(failure(call.result()).contains("new or paid"), "{}", call.reply);
    }
}

#[tokio::test]
async fn an_order_that_changes_while_the_person_thinks_is_asked_about_anew() {
    for revision in BOTH {
        let (server, orders) = sample(Role::Clerk);
        let mut client = connect(&server, revision).await;
        let mut call = cancel(&mut client, json!({ "id": 2 })).await;
        let first = call.question().unwrap();
        let paid = pay(&orders, 2);

        call.answer(&mut client, yes()).await;
        let second = call.question().expect("the first answer was about another state");
        assert_ne!(first["message"], second["message"]);
        assert_eq!(second["message"], paid.cancel_question(None).unwrap());
        assert_eq!(orders.find(2).unwrap(), paid);

        call.answer(&mut client, yes()).await;
        let result = call.result();
        assert_eq!(result["structuredContent"]["before"], "paid", "{result}");
        assert!(text(result).contains("sent back"), "{result}");
    }
}

#[tokio::test]
async fn a_state_that_was_tampered_with_or_belongs_elsewhere_is_refused() {
    let (server, orders) = sample(Role::Clerk);
    let mut client = connect(&server, "2026-07-28").await;
    let call = cancel(&mut client, json!({ "id": 2 })).await;
    let mut good = call.retry(&yes());
    let state = good["requestState"].as_str().unwrap().to_owned();

    let flipped = |at: usize| {
        let mut bytes = state.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        String::from_utf8(bytes).unwrap()
    };
    let mut wrong = Vec::new();
    for text in [flipped(5), flipped(state.len() / 2), String::new(), "{}".to_owned()] {
        let mut params = good.clone();
        params["requestState"] = json!(text);
        wrong.push(params);
    }
    let mut other_order = good.clone();
    other_order["arguments"]["id"] = json!(3);
    wrong.push(other_order);
    let mut other_reason = good.clone();
    other_reason["arguments"]["reason"] = json!("never shown");
    wrong.push(other_reason);

    for params in wrong {
        let reply = client.request("tools/call", params.clone()).await;
        assert_eq!(reply["error"]["code"], -32602, "{params}: {reply}");
        for id in [2, 3] {
            assert_eq!(orders.find(id).unwrap().summary.status, Status::New, "{params}");
        }
    }

    // Another process has another key.
    let mut foreign = connect(&sample(Role::Clerk).0, "2026-07-28").await;
    let reply = foreign.request("tools/call", good.clone()).await;
    assert_eq!(reply["error"]["code"], -32602, "{reply}");

    // An answer without the state that asked is an answer to nothing.
    let mut stateless = good.clone();
    stateless.as_object_mut().unwrap().remove("requestState");
    let reply = client.request("tools/call", stateless).await;
    assert_eq!(reply["result"]["resultType"], "input_required", "{reply}");

    let reply = client.request("tools/call", good.clone()).await;
    assert_eq!(reply["result"]["structuredContent"]["cancelled"], true, "{reply}");
    // A yes serves once, and asking anew finds nothing left to do.
    let reply = client.request("tools/call", good.clone()).await;
    assert_eq!(reply["error"]["code"], -32602, "{reply}");
    good.as_object_mut().unwrap().remove("requestState");
    let reply = client.request("tools/call", good).await;
    assert!(failure(&reply["result"]).contains("already cancelled"), "{reply}");
}

#[tokio::test]
async fn a_client_that_cannot_be_asked_changes_nothing() {
    for (revision, capabilities) in [
        ("2024-11-05", json!({})),
        // It says so, but its revision has no such thing.
        ("2024-11-05", json!({ "elicitation": {} })),
        ("2025-03-26", json!({ "elicitation": {} })),
        ("2025-11-25", json!({})),
        ("2025-11-25", json!({ "elicitation": { "url": {} } })),
    ] {
        let (server, orders) = sample(Role::Admin);
        let mut client = LineClient::connect(&server, revision, capabilities).await;
        let result = client.call("cancel_order", json!({ "id": 2 })).await;
        let said = failure(&result);
        assert!(
            said.contains("Nothing was changed") && said.contains("cannot be asked"),
            "{said}"
        );
        assert_eq!(orders.find(2).unwrap().summary.status, Status::New);

        let plan = orders.plan_purge().unwrap();
        let arguments = json!({ "dry_run": false, "fingerprint": plan.fingerprint });
        let result = client.call("purge_test_orders", arguments).await;
        assert!(failure(&result).contains("cannot be asked"), "{result}");
        assert_eq!(orders.plan_purge().unwrap(), plan);
    }

    let (server, orders) = sample(Role::Admin);
    let mut client = LineClient::connect(&server, "2026-07-28", json!({})).await;
    let params = json!({ "name": "cancel_order", "arguments": { "id": 2 } });
    let error = &client.request("tools/call", params).await["error"];
    assert_eq!(error["code"], -32021, "{error}");
    assert_eq!(
        error["data"]["requiredCapabilities"],
        json!({ "elicitation": { "form": {} } })
    );
    assert_eq!(orders.find(2).unwrap().summary.status, Status::New);
}

#[tokio::test]
async fn a_client_that_fails_to_ask_changes_nothing() {
    let (server, orders) = sample(Role::Clerk);
    let mut client = connect(&server, "2025-11-25").await;
    let mut call = cancel(&mut client, json!({ "id": 2 })).await;
    let broken = json!({ "code": -32603, "message": "no window to show it in" });
    client
        .send(json!({ "jsonrpc": "2.0", "id": call.reply["id"], "error": broken }))
        .await;
    call.reply = client.receive().await;
    let said = failure(call.result());
    assert!(said.contains("Nothing was changed"), "{said}");
    assert_eq!(orders.find(2).unwrap().summary.status, Status::New);
}

#[tokio::test]
async fn test_orders_are_purged_after_a_dry_run_and_a_yes() {
    for revision in BOTH {
        let (server, orders) = sample(Role::Admin);
        let mut client = connect(&server, revision).await;
        let plan = orders.plan_purge().unwrap();
        let dry = client.call("purge_test_orders", json!({})).await;
        assert_eq!(dry["structuredContent"], serde_json::to_value(&plan).unwrap());
        assert!(
            text(&dry).contains("Nothing was removed yet") && text(&dry).contains(&plan.fingerprint),
            "{dry}"
        );
        for (arguments, part) in [
            (json!({ "dry_run": false }), "dry run first"),
            (
                json!({ "dry_run": false, "fingerprint": "0123456789abcdef" }),
                "another dry run",
            ),
        ] {
            let call = Call::start(&mut client, "purge_test_orders", arguments).await;
            assert!(failure(call.result()).contains(part), "{}", call.reply);
        }

        let really = json!({ "dry_run": false, "fingerprint": plan.fingerprint });
        for no in noes() {
            let mut call = Call::start(&mut client, "purge_test_orders", really.clone()).await;
            assert_eq!(call.question().unwrap()["message"], plan.question());
            call.answer(&mut client, no.clone()).await;
            assert_ne!(call.result()["isError"], true, "{no}");
            assert!(
                text(call.result()).contains("Nothing was removed"),
                "{no}: {}",
                call.reply
            );
            assert_eq!(orders.plan_purge().unwrap(), plan, "{no}");
        }

        let mut call = Call::start(&mut client, "purge_test_orders", really.clone()).await;
        call.answer(&mut client, yes()).await;
        let report = &call.result()["structuredContent"];
        assert_eq!(
            (&report["dry_run"], &report["count"], &report["ids"]),
            (&json!(false), &json!(7), &json!(plan.ids))
        );
        assert_eq!(orders.plan_purge().unwrap().count, 0);
        assert!(orders.find(1).is_ok(), "other orders stay");

        let again = Call::start(&mut client, "purge_test_orders", really).await;
        assert!(failure(again.result()).contains("another dry run"), "{}", again.reply);
        let nothing = client.call("purge_test_orders", json!({})).await;
        let fingerprint = nothing["structuredContent"]["fingerprint"].clone();
        let really = json!({ "dry_run": false, "fingerprint": fingerprint });
        let call = Call::start(&mut client, "purge_test_orders", really).await;
        assert!(text(call.result()).contains("nothing to remove"), "{}", call.reply);
    }
}

#[tokio::test]
async fn test_orders_that_change_while_the_person_thinks_are_left_alone() {
    for revision in BOTH {
        let (server, orders) = sample(Role::Admin);
        let mut client = connect(&server, revision).await;
        let plan = orders.plan_purge().unwrap();
        let really = json!({ "dry_run": false, "fingerprint": plan.fingerprint });
        let mut call = Call::start(&mut client, "purge_test_orders", really).await;
        pay(&orders, plan.ids[0]);
        let changed = orders.plan_purge().unwrap();
        assert_ne!(changed.fingerprint, plan.fingerprint);

        call.answer(&mut client, yes()).await;
        assert!(failure(call.result()).contains("another dry run"), "{}", call.reply);
        assert_eq!(orders.plan_purge().unwrap(), changed);
    }
}
