//! `ask` with nothing configured: the shipped servers, the offline model.

use serde_json::{Value, json};

use crate::run::{Home, Ran, settled};

fn ask(question: &str) -> Ran {
    let home = Home::new();
    let ran = home.run(&["ask", "--no-input", question]);
    home.check_nothing_left();
    ran
}

#[test]
fn the_main_questions_are_answered_alone_on_stdout() {
    for (question, answer) in [
        (
            "서울 날씨 어때?",
            "서울의 현재 날씨: 맑음, 기온 18.4°C, 습도 52%, 풍속 7.9km/h (예시 데이터).\n",
        ),
        (
            "What's the weather in Busan?",
            "Busan, South Korea: partly cloudy, 20.1 °C, humidity 61%, wind 14.4 km/h (sample data).\n",
        ),
        (
            "How many paid orders are there?",
            "9 paid orders, test orders not counted.\n",
        ),
    ] {
        let ran = ask(question);
        assert_eq!(ran.done(), answer);
        for label in ["server", "question", "tools", "model", "decision", "result"] {
            assert!(
                ran.stderr.lines().any(|line| line.starts_with(label)),
                "{label}: {}",
                ran.stderr
            );
        }
        assert!(!ran.stderr.contains(answer.trim()), "the answer is on stdout only");
        assert!(
            !ran.stderr.contains('\u{1b}'),
            "no escape codes where there is no terminal"
        );
    }
}

#[test]
fn it_says_that_it_is_no_language_model_in_the_language_of_the_question() {
    assert!(ask("서울 날씨 어때?").stderr.contains("언어 모델이 아니라"));
    assert!(ask("Weather in Seoul?").stderr.contains("not a language model"));
}

#[test]
fn several_words_are_one_question() {
    let home = Home::new();
    let ran = home.run(&["ask", "부산", "날씨", "어때?"]);
    assert!(ran.done().starts_with("부산의 현재 날씨"), "{ran:?}");
}

#[test]
fn what_cannot_be_answered_is_said_and_fails() {
    let ran = ask("Weather in Soeul?");
    assert!(ran.one_error(1).contains("Did you mean Seoul"), "{ran:?}");
    assert_eq!(ran.stdout, "");
    let ran = ask("Tell me a joke");
    assert!(ran.one_error(1).contains("No tool fits"), "{ran:?}");
    let ran = ask("  ");
    assert!(ran.one_error(2).contains("question is empty"), "{ran:?}");
}

#[test]
fn what_changes_things_is_refused_where_nobody_can_be_asked() {
    for question in ["cancel order 3", "3번 주문 취소해줘"] {
        let ran = ask(question);
        assert!(ran.one_error(3).contains("--no-input"), "{ran:?}");
        assert_eq!(ran.stdout, "");
    }
}

#[test]
fn the_whole_run_is_json() {
    let home = Home::new();
    let ran = home.run(&["ask", "--json", "서울 날씨 어때?"]);
    ran.done();
    insta::assert_json_snapshot!("ask_json", settled(ran.json()));
}

#[test]
fn a_run_that_fails_is_json_too() {
    let home = Home::new();
    let ran = home.run(&["ask", "--json", "--no-input", "cancel order 3"]);
    assert_eq!(ran.status, Some(3), "{ran:?}");
    let json = ran.json();
    assert_eq!(
        (&json["end"], &json["answer"], &json["exit"]),
        (&json!("gave_up"), &Value::Null, &json!("refused"))
    );
    assert_eq!(json["calls"][0]["decision"]["permitted"], false);
    assert_eq!(json["calls"][0]["outcome"]["kind"], "refused");
}

#[test]
fn the_journal_holds_the_run_and_is_whole() {
    let home = Home::new();
    let file = home.path().join("run.jsonl");
    let named = file.to_str().unwrap();
    home.run(&["ask", "--journal", named, "How many paid orders are there?"])
        .done();
    let written = std::fs::read(&file).unwrap();
    assert!(trunkline_journal::verify(&written[..]).unwrap().is_whole());
    let kinds: Vec<String> = String::from_utf8(written)
        .unwrap()
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["kind"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    for kind in [
        "header", "message", "server", "question", "decision", "outcome", "answer", "end",
    ] {
        assert!(kinds.iter().any(|other| other == kind), "{kind}: {kinds:?}");
    }
    let again = home.run(&["ask", "--journal", named, "How many paid orders are there?"]);
    assert!(again.one_error(2).contains("not written over"), "{again:?}");
}
