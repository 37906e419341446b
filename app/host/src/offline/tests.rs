//! The picker as a whole: questions in two languages, tools of ours and of others.

use serde_json::{Value, json};

use super::*;

/// A tool as a server would give it.
struct Tool {
    name: &'static str,
    description: &'static str,
    schema: Value,
}

fn tool(name: &'static str, description: &'static str, schema: Value) -> Tool {
    Tool {
        name,
        description,
        schema,
    }
}

fn cards(tools: &[Tool]) -> Vec<ToolCard<'_>> {
    tools
        .iter()
        .map(|tool| ToolCard {
            name: tool.name,
            title: None,
            description: Some(tool.description),
            input_schema: &tool.schema,
            runs_unasked: false,
        })
        .collect()
}

#[expect(clippy::needless_pass_by_value, reason = "a literal is written at every call")]
fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

fn shipped() -> Vec<Tool> {
    let status = |description: &str| {
        json!({
            "description": description,
            "anyOf": [{ "$ref": "#/$defs/Status" }, { "type": "null" }],
        })
    };
    let with_status = |mut schema: Value| {
        let values = ["new", "paid", "shipped", "delivered", "cancelled"];
        schema["$defs"] = json!({ "Status": { "type": "string", "enum": values } });
        schema
    };
    let text = |description: &str| json!({ "type": "string", "description": description });
    let flag = |description: &str| json!({ "type": "boolean", "description": description });
    let number = |description: &str| json!({ "type": "integer", "description": description, "minimum": 1 });
    let customer = "Only orders of this customer: the full name, or a part of it that fits one customer only.";
    vec![
        tool(
            "get_weather",
            "Current weather for a city.",
            object(
                json!({ "city": text("Name of the city in English or Korean, for example \"Seoul\", \"서울\" or \"New York\".") }),
                &["city"],
            ),
        ),
        tool(
            "count_orders",
            "Count orders.",
            with_status(object(
                json!({
                    "status": status("Count only orders that stand here. All when left out."),
                    "customer": text(customer),
                    "include_test": flag("Whether test orders are counted as well."),
                }),
                &[],
            )),
        ),
        tool(
            "list_orders",
            "List orders, the newest first, a page at a time.",
            with_status(object(
                json!({
                    "status": status("List only orders that stand here. All when left out."),
                    "customer": text(customer),
                    "include_test": flag("Whether test orders are listed as well."),
                    "limit": number("Orders per page, 1 to 100. 20 when left out."),
                    "cursor": text("Where to go on: the `next_cursor` of the page before, with the same filter."),
                }),
                &[],
            )),
        ),
        tool(
            "get_order",
            "Read one order.",
            object(json!({ "id": number("Number of the order.") }), &["id"]),
        ),
        tool(
            "cancel_order",
            "Cancel one order that is new or paid.",
            object(
                json!({ "id": number("Number of the order."), "reason": text("Why it is cancelled, kept with the order.") }),
                &["id"],
            ),
        ),
        tool(
            "purge_test_orders",
            "Remove test orders for good.",
            object(
                json!({
                    "dry_run": { "type": "boolean", "default": true, "description": "Whether to say only what would be removed." },
                    "fingerprint": text("The `fingerprint` of the dry run whose orders are to be removed."),
                }),
                &[],
            ),
        ),
    ]
}

fn foreign() -> Vec<Tool> {
    let text = |description: &str| json!({ "type": "string", "description": description });
    vec![
        tool(
            "get_current_time",
            "Get current time in a specific timezone",
            object(
                json!({ "timezone": text("IANA timezone name (e.g. 'America/New_York')") }),
                &["timezone"],
            ),
        ),
        tool(
            "convert_time",
            "Convert time between timezones",
            object(
                json!({ "source_timezone": text("from"), "time": text("HH:MM"), "target_timezone": text("to") }),
                &["source_timezone", "time", "target_timezone"],
            ),
        ),
        tool(
            "echo",
            "Echoes back the input",
            object(json!({ "message": text("Message to echo") }), &["message"]),
        ),
        tool(
            "add",
            "Adds two numbers",
            object(
                json!({ "a": { "type": "number" }, "b": { "type": "number" } }),
                &["a", "b"],
            ),
        ),
        tool(
            "search_files",
            "Recursively search for files that match a pattern.",
            object(
                json!({ "path": text("where"), "pattern": text("what") }),
                &["path", "pattern"],
            ),
        ),
        tool(
            "read_text_file",
            "Read a file as text.",
            object(json!({ "path": text("which") }), &["path"]),
        ),
        tool(
            "read_multiple_files",
            "Read the contents of multiple files.",
            object(
                json!({ "paths": { "type": "array", "items": { "type": "string" } } }),
                &["paths"],
            ),
        ),
        tool(
            "list_allowed_directories",
            "The directories that may be used.",
            json!({ "type": "object" }),
        ),
        tool(
            "git_log",
            "Shows the commit logs",
            object(
                json!({ "repo_path": text("where"), "max_count": { "type": "integer", "default": 10 } }),
                &["repo_path"],
            ),
        ),
    ]
}

fn everything() -> Vec<Tool> {
    let mut all = shipped();
    all.extend(foreign());
    all
}

/// The pick for a question, as name and arguments; the reason when there is none.
fn ask(question: &str, tools: &[Tool]) -> Result<(String, Value), String> {
    let cards = cards(tools);
    match pick(question, &cards) {
        Ok(found) => Ok((cards[found.tool].name.to_owned(), Value::Object(found.arguments))),
        Err(none) => Err(none.why),
    }
}

#[track_caller]
fn picks(tools: &[Tool], cases: &[(&str, &str, Value)]) {
    for (question, name, arguments) in cases {
        assert_eq!(
            ask(question, tools),
            Ok(((*name).to_owned(), arguments.clone())),
            "{question}"
        );
    }
}

#[test]
fn the_shipped_tools() {
    let cases = [
        ("서울 날씨 어때?", "get_weather", json!({"city": "서울"})),
        ("부산의 날씨는?", "get_weather", json!({"city": "부산"})),
        ("도쿄 지금 몇 도야?", "get_weather", json!({"city": "도쿄"})),
        ("오늘 하노이 기온 알려줘", "get_weather", json!({"city": "하노이"})),
        ("What's the weather in Busan?", "get_weather", json!({"city": "Busan"})),
        (
            "Is it raining in New York City today?",
            "get_weather",
            json!({"city": "New York City"}),
        ),
        ("Busan weather", "get_weather", json!({"city": "Busan"})),
        (
            "How many paid orders are there?",
            "count_orders",
            json!({"status": "paid"}),
        ),
        ("결제된 주문이 몇 건이야?", "count_orders", json!({"status": "paid"})),
        ("주문 몇 개야?", "count_orders", json!({})),
        (
            "취소된 주문은 몇 건이야?",
            "count_orders",
            json!({"status": "cancelled"}),
        ),
        (
            "How many cancelled orders are there?",
            "count_orders",
            json!({"status": "cancelled"}),
        ),
        (
            "How many orders does Kim have?",
            "count_orders",
            json!({"customer": "Kim"}),
        ),
        (
            "김철수 고객 주문 몇 건이야?",
            "count_orders",
            json!({"customer": "김철수"}),
        ),
        ("주문 목록 보여줘", "list_orders", json!({})),
        (
            "list 5 shipped orders",
            "list_orders",
            json!({"status": "shipped", "limit": 5}),
        ),
        (
            "배송된 주문 5개 보여줘",
            "list_orders",
            json!({"status": "shipped", "limit": 5}),
        ),
        ("취소된 주문 보여줘", "list_orders", json!({"status": "cancelled"})),
        ("주문 17번 보여줘", "get_order", json!({"id": 17})),
        ("17번 주문 알려줘", "get_order", json!({"id": 17})),
        ("show order 17", "get_order", json!({"id": 17})),
        ("Where is order #17?", "get_order", json!({"id": 17})),
        ("cancel order 3", "cancel_order", json!({"id": 3})),
        ("3번 주문 취소해줘", "cancel_order", json!({"id": 3})),
        ("주문 3번을 취소해 주세요", "cancel_order", json!({"id": 3})),
        (
            "purge the test orders, dry run",
            "purge_test_orders",
            json!({"dry_run": true}),
        ),
        (
            "테스트 주문 삭제 미리보기",
            "purge_test_orders",
            json!({"dry_run": true}),
        ),
        (
            "김민지의 주문은 몇 건이야?",
            "count_orders",
            json!({"customer": "김민지"}),
        ),
        ("테스트 주문 지워줘", "purge_test_orders", json!({})),
    ];
    picks(&shipped(), &cases);
    picks(&everything(), &cases);
}

#[test]
fn tools_that_nobody_here_wrote() {
    let cases = [
        (
            "what time is it in Asia/Seoul?",
            "get_current_time",
            json!({"timezone": "Asia/Seoul"}),
        ),
        (
            "What time is it in New York?",
            "get_current_time",
            json!({"timezone": "America/New_York"}),
        ),
        (
            "서울 지금 몇 시야?",
            "get_current_time",
            json!({"timezone": "Asia/Seoul"}),
        ),
        ("add 2 and 3", "add", json!({"a": 2, "b": 3})),
        ("2와 3을 더해줘", "add", json!({"a": 2, "b": 3})),
        (
            "what is the sum of -2.5 and 1,000?",
            "add",
            json!({"a": -2.5, "b": 1000}),
        ),
        ("echo \"hello\"", "echo", json!({"message": "hello"})),
        ("echo hello world", "echo", json!({"message": "hello world"})),
        ("\"안녕\"을 따라해줘", "echo", json!({"message": "안녕"})),
        ("안녕하세요 따라해줘", "echo", json!({"message": "안녕하세요"})),
        (
            "search files for *.txt in /home/docs",
            "search_files",
            json!({"path": "/home/docs", "pattern": "*.txt"}),
        ),
        (
            "read the file notes/today.md",
            "read_text_file",
            json!({"path": "notes/today.md"}),
        ),
        ("README.md 파일 읽어줘", "read_text_file", json!({"path": "README.md"})),
        (
            "read multiple files a.txt and b.txt",
            "read_multiple_files",
            json!({"paths": ["a.txt", "b.txt"]}),
        ),
        ("read /etc/hosts", "read_text_file", json!({"path": "/etc/hosts"})),
        (
            "convert 12:30 from Asia/Seoul to Europe/London",
            "convert_time",
            json!({"source_timezone": "Asia/Seoul", "target_timezone": "Europe/London", "time": "12:30"}),
        ),
        ("list the allowed directories", "list_allowed_directories", json!({})),
        (
            "show the commit log of /src/app, max_count=3",
            "git_log",
            json!({"max_count": 3, "repo_path": "/src/app"}),
        ),
    ];
    picks(&foreign(), &cases);
    picks(&everything(), &cases);
}

#[test]
fn no_tool_for_what_no_tool_does() {
    for question in [
        "tell me a joke",
        "농담 하나 해줘",
        "What is the capital of France?",
        "How many people live in Seoul?",
        "안녕하세요",
        "hello",
        "서울",
        "???",
        "show me",
        "book a flight to Busan",
    ] {
        let none = pick(question, &cards(&everything())).unwrap_err();
        assert!(!none.why.is_empty(), "{question}");
    }
    assert!(ask("", &everything()).unwrap_err().contains("empty"));
    assert!(ask("서울 날씨 어때?", &[]).is_err());
}

#[test]
fn what_is_missing_is_named_and_the_example_works() {
    let tools = everything();
    for (question, param) in [
        ("오늘 날씨 어때?", "city"),
        ("What's the weather?", "city"),
        ("cancel the order", "id"),
        ("what time is it?", "timezone"),
        ("add 2", "b"),
        ("echo", "message"),
        ("read a file", "path"),
    ] {
        let why = match ask(question, &tools) {
            Err(why) => why,
            Ok(found) => panic!("{question}: {found:?}"),
        };
        assert!(why.contains(&format!("`{param}`")), "{question}: {why}");
        let example = why
            .split("예: ")
            .nth(1)
            .or_else(|| why.split("For example: ").nth(1))
            .unwrap();
        assert!(ask(example, &tools).is_ok(), "{example}: {:?}", ask(example, &tools));
    }
}

#[test]
fn advice_is_no_request_and_a_request_is_one() {
    let tools = everything();
    for question in ["Can you cancel order 3?", "you should cancel order 3"] {
        let found = ask(question, &tools).map(|found| found.0);
        assert_eq!(found.as_deref(), Ok("cancel_order"), "{question}");
    }
}

#[test]
fn a_tool_full_of_words_takes_no_question_from_one_that_is_vouched_for() {
    let city = object(json!({ "city": { "type": "string" } }), &["city"]);
    let tools = [
        tool("get_weather", "Current weather for a city.", city.clone()),
        tool(
            "weather_city_weather",
            "weather city weather now weather today weather temperature city",
            city,
        ),
    ];
    let question = "weather in the city of Seoul";
    let pick_with = |vouched: &[bool]| {
        let mut cards = cards(&tools);
        for (card, vouched) in cards.iter_mut().zip(vouched) {
            card.runs_unasked = *vouched;
        }
        pick(question, &cards).unwrap().tool
    };
    assert_eq!(pick_with(&[false, false]), 1, "the words outbid");
    assert_eq!(pick_with(&[true, false]), 0);
}

#[test]
fn nothing_is_taken_away_unasked() {
    let tools = everything();
    for question in [
        "How do I cancel order 3?",
        "Should I cancel order 3?",
        "Can I cancel order 3?",
        "which order did Kim cancel?",
        "order 3 was cancelled",
        "3번 주문 취소됐어?",
        "test orders",
        "테스트 주문",
        "don't cancel order 3",
        "3번 주문 취소하지 마",
    ] {
        if let Ok((found, _)) = ask(question, &tools) {
            assert!(
                !found.starts_with("cancel_order") && !found.starts_with("purge"),
                "{question}: {found}"
            );
        }
    }
    // Alone in the list, it is not even named as coming near.
    let only = [tool(
        "purge_test_orders",
        "Deletes test orders.",
        json!({ "type": "object" }),
    )];
    let none = pick("show test orders", &cards(&only)).unwrap_err();
    assert_eq!(none.near, [0; 0]);
}

#[test]
fn a_wish_to_change_is_not_answered_by_looking() {
    let mut viewer = shipped();
    viewer.retain(|tool| !matches!(tool.name, "cancel_order" | "purge_test_orders"));
    for question in [
        "cancel order 3",
        "3번 주문 취소해줘",
        "delete order 3",
        "create an order for Kim",
    ] {
        assert!(ask(question, &viewer).is_err(), "{question}");
    }
}

#[test]
fn what_is_denied_is_not_answered() {
    for question in [
        "How many orders are not paid?",
        "결제 안 된 주문 몇 건이야?",
        "don't cancel order 3",
        "3번 주문 취소하지 마",
    ] {
        assert!(ask(question, &everything()).is_err(), "{question}");
    }
    // Inside a text it denies nothing.
    picks(
        &foreign(),
        &[("echo not today", "echo", json!({"message": "not today"}))],
    );
}

#[test]
fn several_values_for_one_parameter_are_asked_for_one_at_a_time() {
    let why = ask("How many paid and shipped orders are there?", &shipped()).unwrap_err();
    assert!(why.contains("paid, shipped") || why.contains("shipped, paid"), "{why}");
}

#[test]
fn what_had_no_part_is_told() {
    let tools = shipped();
    let found = pick("What's the weather in Busan, Korea?", &cards(&tools)).unwrap();
    assert_eq!(found.arguments["city"], "Busan");
    assert_eq!(found.ignored, ["Korea"]);
    assert!(found.why.contains("Korea"));
}

#[test]
fn a_narrower_question_is_not_answered_widely() {
    let tools = shipped();
    for (question, word) in [
        ("What's the weather in Busan tomorrow?", "tomorrow"),
        ("내일 부산 날씨 어때?", "내일"),
        ("지난주 주문 몇 건이야?", "지난주"),
        ("2월 1일 주문 보여줘", "월"),
        ("How many orders since 2026-01-01?", "2026-01-01"),
        ("미결제 주문 보여줘", "미결제"),
        ("How many refunded orders are there?", "refunded"),
        ("cancel orders 3 and 4", "4"),
        ("3번, 4번 주문 취소해줘", "4"),
    ] {
        match ask(question, &tools) {
            Err(why) => assert!(why.contains(word), "{question}: {why}"),
            Ok(found) => panic!("{question}: {found:?}"),
        }
    }
    // All orders are not the test orders.
    for question in ["모든 주문 삭제해", "DROP TABLE orders", "delete the orders"] {
        assert!(ask(question, &tools).is_err(), "{question}");
    }
}

#[test]
fn the_order_of_the_tools_changes_nothing() {
    let mut tools = everything();
    let questions = [
        "서울 날씨 어때?",
        "show order 17",
        "add 2 and 3",
        "list orders",
        "what time is it?",
        "orders",
    ];
    let before: Vec<_> = questions.iter().map(|question| ask(question, &tools)).collect();
    for _ in 0..tools.len() {
        tools.rotate_left(1);
        let after: Vec<_> = questions.iter().map(|question| ask(question, &tools)).collect();
        assert_eq!(before, after);
    }
    tools.reverse();
    assert_eq!(
        before,
        questions
            .iter()
            .map(|question| ask(question, &tools))
            .collect::<Vec<_>>()
    );
}

#[test]
fn server_names_in_front_do_not_disturb() {
    let mut tools = everything();
    for (tool, name) in tools.iter_mut().zip([
        "weather__get_weather",
        "orders__count_orders",
        "orders__list_orders",
        "orders__get_order",
        "orders__cancel_order",
        "orders__purge_test_orders",
        "time__get_current_time",
        "time__convert_time",
        "everything__echo",
        "everything__add",
    ]) {
        tool.name = name;
    }
    picks(
        &tools,
        &[
            ("서울 날씨 어때?", "weather__get_weather", json!({"city": "서울"})),
            (
                "How many paid orders are there?",
                "orders__count_orders",
                json!({"status": "paid"}),
            ),
            ("add 2 and 3", "everything__add", json!({"a": 2, "b": 3})),
            ("echo \"hi\"", "everything__echo", json!({"message": "hi"})),
        ],
    );
}

#[test]
fn numbers_are_exact_or_left_aside() {
    let tools = shipped();
    picks(
        &tools,
        &[(
            "show order 9007199254740993",
            "get_order",
            json!({"id": 9_007_199_254_740_993_u64}),
        )],
    );
    assert!(
        ask("show order 99999999999999999999999", &tools)
            .unwrap_err()
            .contains("`id`")
    );
    assert!(ask("show order 1.5", &tools).unwrap_err().contains("`id`"));
}

#[test]
fn a_huge_question_is_bounded_work() {
    let tools = everything();
    let filler = "lorem ipsum 서울 17 \"x\" ".repeat(50_000);
    assert!(filler.len() > 1 << 20);
    assert!(ask(&filler, &tools).is_err());
    let found = pick(&format!("What's the weather in Busan? {filler}"), &cards(&tools));
    if let Ok(found) = found {
        assert!(found.why.contains("not read") || found.why.contains("읽지 않았습니다"));
    }
    for piece in [
        "가",
        "\u{1112}\u{1161}",
        "\"",
        "'",
        "a=",
        "날씨",
        "1,000",
        "🦀",
        "\u{0}",
        "---",
        "(",
    ] {
        let _ = pick(&piece.repeat(1 << 20), &cards(&tools));
    }
}

#[test]
fn odd_schemas_disturb_nobody() {
    let mut tools = shipped();
    for (name, schema) in [
        ("odd_true", json!(true)),
        ("odd_null", json!(null)),
        ("odd_bare", json!({})),
        ("odd_list", json!([1])),
        (
            "odd_properties",
            json!({ "properties": { "x": true, "y": false, "z": [] }, "required": ["x", "y", 3] }),
        ),
        ("odd_circle", json!({ "$ref": "#" })),
        (
            "odd_far",
            json!({ "properties": { "x": { "$ref": "http://127.0.0.1:9/x" } }, "required": ["x"] }),
        ),
    ] {
        tools.push(tool(name, "", schema));
    }
    picks(
        &tools,
        &[
            ("서울 날씨 어때?", "get_weather", json!({"city": "서울"})),
            ("odd true", "odd_true", json!({})),
            ("odd bare", "odd_bare", json!({})),
            ("odd circle", "odd_circle", json!({})),
        ],
    );
    assert!(ask("odd far", &tools).unwrap_err().contains("trunkline call"));
}

#[test]
fn listed_values_of_any_type_and_lists_of_them() {
    let tools = [tool(
        "find_books",
        "Finds books.",
        object(
            json!({
                "genre": { "type": "array", "items": { "enum": ["crime", "poetry", "history"] } },
                "stars": { "enum": [1, 2, 3] },
                "in_print": { "type": "boolean" },
                "format": { "const": "json" },
                "sort": { "type": "string", "default": "title" },
            }),
            &["format", "sort"],
        ),
    )];
    picks(
        &tools,
        &[
            (
                "find crime and poetry books",
                "find_books",
                json!({"format": "json", "genre": ["crime", "poetry"], "sort": "title"}),
            ),
            (
                "find books in print with stars: 3",
                "find_books",
                json!({"format": "json", "in_print": true, "sort": "title", "stars": 3}),
            ),
        ],
    );
}

#[test]
fn it_says_what_it_is() {
    assert!(notice(Language::English).contains("not a language model"));
    assert!(notice(Language::Korean).contains("언어 모델이 아니라"));
}
