//! A client and a server of ours: calls that become tasks without their caller noticing, and handles for those
//! who want to know.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use trunkline::types::{
    ClientCapabilities, ElicitParams, ElicitResult, ErrorObject, Extra, Revision, SubscriptionFilter, TaskState,
};
use trunkline::{
    CallError, CallOptions, Client, Inputs, NoArguments, Notice, Server, Started, TaskFailure, TaskSupport, Tool,
};

use super::bounds::SharedStore;
use super::{Alive, S, Turns, server};

/// A person who takes an hour for every answer.
#[derive(Clone, Default)]
struct Person {
    asked: Arc<AtomicU32>,
    refuses: bool,
    takes: Duration,
}

impl Inputs for Person {
    fn capabilities(&self) -> ClientCapabilities {
        serde_json::from_value(json!({ "elicitation": {} })).unwrap()
    }

    async fn elicit(&self, question: ElicitParams) -> Result<ElicitResult, ErrorObject> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(self.takes).await;
        if self.refuses {
            return Err(ErrorObject::invalid_request("not now"));
        }
        let ElicitParams::Form(form) = question else {
            panic!("{question:?}")
        };
        let answer = if form.requested_schema.pointer("/properties/name").is_some() {
            json!({ "name": "Ann" })
        } else {
            json!({ "confirm": true })
        };
        Ok(ElicitResult::accept(answer.as_object().cloned().unwrap()))
    }
}

async fn client_of(server: &Server, person: &Person) -> Client {
    Client::in_memory(server)
        .inputs(person.clone())
        .connect()
        .await
        .unwrap()
}

/// What became of a task that has no result.
#[track_caller]
fn ended(error: &CallError) -> &TaskFailure {
    match error {
        CallError::Task(error) => &error.why,
        other => panic!("{other:?}"),
    }
}

fn arguments(value: serde_json::Value) -> Extra {
    value.as_object().cloned().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_becomes_a_task_looks_like_any_other() {
    let server = server();
    let person = Person::default();
    let client = client_of(&server, &person).await;
    let before = Instant::now();
    let computed = client.call("slow_compute", &json!({ "seconds": 10 })).await.unwrap();
    assert_eq!(computed.text(), "computed for 10 s");
    assert_eq!(before.elapsed().as_secs(), 10, "polled every second");
    let deleted = client
        .call("confirm_delete", &json!({ "filename": "a" }))
        .await
        .unwrap();
    assert_eq!(deleted.text(), "deleted a");
    assert_eq!(
        client.call("multi_input", &json!({})).await.unwrap().text(),
        "Ann: true"
    );
    let gone = client.call("ask_and_go", &json!({})).await.unwrap();
    assert_eq!(gone.text(), "Ann as a task: true, sure: true");
    assert_eq!(person.asked.load(Ordering::SeqCst), 5, "nothing was asked twice");
    let failed = client.call("failing_job", &json!({})).await.unwrap();
    assert!(failed.failed());
    assert_eq!(client.noise().count, 0);
}

#[tokio::test(start_paused = true)]
async fn legacy_clients_and_those_who_do_not_want_tasks_call_as_ever() {
    let server = server();
    for revision in Revision::ALL {
        let client = Client::in_memory(&server)
            .opening(trunkline::Opening::Fixed(revision))
            .tasks(false)
            .connect()
            .await
            .unwrap();
        let started = client
            .start_call(
                "slow_compute",
                arguments(json!({ "seconds": 1 })),
                CallOptions::default(),
            )
            .await
            .unwrap();
        assert!(matches!(started, Started::Done(called) if called.text() == "computed for 1 s"));
        let refused = client.call("failing_job", &json!({})).await.unwrap_err();
        assert!(matches!(refused, CallError::Refused(_)), "{revision}: {refused:?}");
        let error = client.task("slow_compute", "t").get().await.unwrap_err();
        assert!(matches!(error, CallError::NotSent(_)), "{revision}: {error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_ends_a_task_is_told_apart_and_all_of_it_may_have_run() {
    let alive = Alive::default();
    let server = server().tool("endless", alive.tool().task(TaskSupport::optional()));
    let client = client_of(&server, &Person::default()).await;
    let error = client.call("protocol_error_job", &json!({})).await.unwrap_err();
    assert!(
        matches!(ended(&error), TaskFailure::Failed(error) if error.code == -32050),
        "{error:?}"
    );
    assert!(error.may_have_run());
    let Started::Task(task) = client
        .start_call("endless", Extra::new(), CallOptions::default())
        .await
        .unwrap()
    else {
        panic!("it is a task")
    };
    task.cancel().await.unwrap();
    let error = task.result(S).await.unwrap_err();
    assert!(matches!(ended(&error), TaskFailure::Cancelled(Some(_))), "{error:?}");
    assert!(error.to_string().contains("cancelled on request"), "{error}");
    let error = client.task("endless", "no such task").result(S).await.unwrap_err();
    assert!(matches!(ended(&error), TaskFailure::Unreachable(_)), "{error:?}");
    assert!(error.may_have_run());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_or_takes_too_long_cancels_its_task() {
    let alive = Alive::default();
    let server = server().tool("endless", alive.tool().task(TaskSupport::optional()));
    let client = client_of(&server, &Person::default()).await;
    let dropped = tokio::time::timeout(S * 5, client.call("endless", &json!({}))).await;
    assert!(dropped.is_err());
    alive.reaches(0).await;
    let call = client.request_call("endless", Extra::new(), CallOptions::default());
    assert!(tokio::time::timeout(S * 5, call).await.is_err());
    alive.reaches(0).await;
    let options = CallOptions {
        task_wait: Some(S * 30),
        ..CallOptions::default()
    };
    let before = Instant::now();
    let error = client.request_call("endless", Extra::new(), options).await.unwrap_err();
    assert_eq!(before.elapsed().as_secs(), 30);
    assert!(matches!(ended(&error), TaskFailure::Overdue(_)), "{error:?}");
    alive.reaches(0).await;
    // Without a wish it is followed for an hour, which is also how long this server keeps it.
    let error = client.call("endless", &json!({})).await.unwrap_err();
    assert!(matches!(error, CallError::Task(_)), "{error:?}");
    assert_eq!(before.elapsed().as_secs(), 3630);
}

#[tokio::test(start_paused = true)]
async fn a_person_may_take_their_time_and_a_refusal_ends_the_task() {
    let server = server();
    let slow = Person {
        takes: S * 1800,
        ..Person::default()
    };
    let client = client_of(&server, &slow).await;
    let options = CallOptions {
        task_wait: Some(S * 10),
        ..CallOptions::default()
    };
    let call = client.request_call("confirm_delete", arguments(json!({ "filename": "a" })), options);
    assert_eq!(
        call.await.unwrap().text(),
        "deleted a",
        "the wait stands still meanwhile"
    );
    let refusing = Person {
        refuses: true,
        ..Person::default()
    };
    let client = client_of(&server, &refusing).await;
    let Started::Task(task) = client
        .start_call(
            "confirm_delete",
            arguments(json!({ "filename": "b" })),
            CallOptions::default(),
        )
        .await
        .unwrap()
    else {
        panic!("it is a task")
    };
    let error = task.result(S * 10).await.unwrap_err();
    assert!(matches!(&error, CallError::Unanswered(_)), "{error:?}");
    assert!(
        matches!(task.get().await.unwrap().state, TaskState::InputRequired(_)),
        "who holds it decides"
    );
    let error = client
        .call("confirm_delete", &json!({ "filename": "c" }))
        .await
        .unwrap_err();
    assert!(matches!(&error, CallError::Unanswered(_)), "{error:?}");
}

/// What a person took time for is not lost with one failure of the server's.
#[tokio::test(start_paused = true)]
async fn an_answer_that_the_server_could_not_take_is_sent_again() {
    let store = SharedStore::default();
    let server = Server::new("s", "1").tasks(store.clone()).tool(
        "confirm_delete",
        Tool::new(super::confirm_delete).task(TaskSupport::optional()),
    );
    let person = Person {
        takes: S * 19 / 2,
        ..Person::default()
    };
    let client = client_of(&server, &person).await;
    let following = tokio::spawn(async move { client.call("confirm_delete", &json!({ "filename": "a" })).await });
    // Asked after one second, the person answers after ten and a half, between two polls.
    tokio::time::sleep(S * 51 / 5).await;
    store.fails(true);
    tokio::time::sleep(S * 7 / 10).await;
    store.fails(false);
    assert_eq!(following.await.unwrap().unwrap().text(), "deleted a");
    assert_eq!(person.asked.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_withdrawn_is_answered_by_nobody() {
    let server = server();
    let slow = Person {
        takes: S * 600,
        ..Person::default()
    };
    let client = client_of(&server, &slow).await;
    let options = CallOptions::default();
    let ask = arguments(json!({ "filename": "a" }));
    let Started::Task(task) = client.start_call("confirm_delete", ask, options).await.unwrap() else {
        panic!("it is a task")
    };
    let following = {
        let task = task.clone();
        tokio::spawn(async move { task.result(S * 60).await })
    };
    tokio::time::sleep(S * 10).await;
    assert_eq!(slow.asked.load(Ordering::SeqCst), 1);
    task.cancel().await.unwrap();
    let before = Instant::now();
    let error = following.await.unwrap().unwrap_err();
    assert!(matches!(ended(&error), TaskFailure::Cancelled(_)), "{error:?}");
    assert!(before.elapsed() <= S, "the person is not waited for");
}

#[tokio::test(start_paused = true)]
async fn a_task_is_found_again_by_its_id_after_a_restart() {
    let server = server();
    let client = client_of(&server, &Person::default()).await;
    client.tools().await.unwrap();
    let ask = arguments(json!({ "seconds": 20 }));
    let Started::Task(task) = client
        .start_call("slow_compute", ask, CallOptions::default())
        .await
        .unwrap()
    else {
        panic!("it is a task")
    };
    assert!(
        !format!("{task:?}").contains(task.id()),
        "an id is kept like a password"
    );
    let kept = task.id().to_owned();
    drop((task, client));
    let again = client_of(&server, &Person::default()).await;
    let task = again.task("slow_compute", kept);
    assert_eq!(task.get().await.unwrap().state, TaskState::Working);
    // Giving up on the result does not give up the task.
    assert!(tokio::time::timeout(S, task.result(S * 60)).await.is_err());
    assert_eq!(task.result(S * 60).await.unwrap().text(), "computed for 20 s");
    assert_eq!(
        task.result(S).await.unwrap().text(),
        "computed for 20 s",
        "as often as one likes"
    );
}

#[tokio::test(start_paused = true)]
async fn answers_can_be_given_by_hand() {
    let server = server();
    let client = client_of(&server, &Person::default()).await;
    let ask = arguments(json!({ "filename": "a" }));
    let Started::Task(task) = client
        .start_call("confirm_delete", ask, CallOptions::default())
        .await
        .unwrap()
    else {
        panic!("it is a task")
    };
    let mut turns = Turns(0);
    let questions = loop {
        match task.get().await.unwrap().state {
            TaskState::InputRequired(questions) => break questions,
            _ => turns.take().await,
        }
    };
    let (key, _) = questions.into_iter().next().unwrap();
    let answers = [(key, json!({ "action": "decline" }))].into_iter().collect();
    task.update(answers).await.unwrap();
    assert_eq!(task.result(S * 5).await.unwrap().text(), "nothing was deleted");
}

#[tokio::test(start_paused = true)]
async fn what_a_task_says_of_itself_is_progress() {
    let client = client_of(&server(), &Person::default()).await;
    let options = CallOptions {
        progress: true,
        ..CallOptions::default()
    };
    let mut call = client.request_call("slow_compute", arguments(json!({ "seconds": 3 })), options);
    let mut said = Vec::new();
    while let Some(progress) = call.progress().await {
        said.push((progress.progress.as_u64().unwrap(), progress.message.unwrap()));
    }
    assert_eq!(call.await.unwrap().text(), "computed for 3 s");
    assert!(said.len() >= 2 && said.is_sorted(), "{said:?}");
    assert!(
        said.iter().all(|(_, message)| message.starts_with("second ")),
        "{said:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_structured_result_is_checked_as_that_of_any_call() {
    let tool = |value: serde_json::Value| {
        Tool::new(move |_: NoArguments| {
            let value = value.clone();
            async move { trunkline::Json(value) }
        })
        .output_schema(json!({ "type": "object" }))
        .task(TaskSupport::optional())
    };
    let server = server()
        .tool("right", tool(json!({ "a": 1 })))
        .tool("wrong", tool(json!([1])));
    let client = client_of(&server, &Person::default()).await;
    let right: serde_json::Value = client.call("right", &json!({})).await.unwrap().structured().unwrap();
    assert_eq!(right, json!({ "a": 1 }));
    let wrong = client.call("wrong", &json!({})).await.unwrap_err();
    assert!(matches!(ended(&wrong), TaskFailure::Failed(_)), "{wrong:?}");
}

#[tokio::test(start_paused = true)]
async fn changes_of_tasks_are_heard() {
    let server = server();
    let client = client_of(&server, &Person::default()).await;
    let ask = arguments(json!({ "seconds": 2 }));
    let Started::Task(task) = client
        .start_call("slow_compute", ask, CallOptions::default())
        .await
        .unwrap()
    else {
        panic!("it is a task")
    };
    let filter = SubscriptionFilter {
        task_ids: Some(vec![task.id().to_owned()]),
        ..SubscriptionFilter::default()
    };
    let mut changes = client.listen(filter.clone()).await.unwrap();
    assert_eq!(*changes.filter(), filter);
    loop {
        let Some(Notice::Task(heard)) = changes.next().await else {
            panic!("changes of a task are heard")
        };
        assert_eq!(heard.task_id, task.id());
        if heard.state.is_terminal() {
            break;
        }
    }
}
