//! What a role is offered, and everything that changes nothing.

use super::*;
use crate::SCHEMA;
use crate::server::prompts::DAILY_REPORT;
use crate::server::resources::{ORDER_TEMPLATE, SCHEMA_URI};
use trunkline_testkit::{BOTH, assert_plain};

#[tokio::test]
async fn each_role_is_offered_what_it_may_use() {
    let reading = ["count_orders", "get_order", "list_orders"];
    for revision in BOTH {
        for (role, changing) in [
            (Role::Viewer, &[][..]),
            (Role::Clerk, &["cancel_order"][..]),
            (Role::Admin, &["cancel_order", "purge_test_orders"][..]),
        ] {
            let mut client = connect(&sample(role).0, revision).await;
            let tools = client.list("tools/list", "tools").await;
            let mut offered: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
            offered.sort_unstable();
            let mut expected = [&reading, changing].concat();
            expected.sort_unstable();
            assert_eq!(offered, expected, "{role}");
        }
    }
}

#[tokio::test]
async fn a_tool_beyond_the_role_is_unknown_and_would_be_refused() {
    for revision in BOTH {
        let (server, orders) = sample(Role::Viewer);
        let mut client = connect(&server, revision).await;
        let reply = client
            .request(
                "tools/call",
                json!({ "name": "cancel_order", "arguments": { "id": 2 } }),
            )
            .await;
        assert_eq!(reply["error"]["code"], -32602, "{reply}");

        // Even if it were registered.
        let all = tools::all(Role::Clerk).into_iter().fold(
            Server::new("orders", "1").state(orders.clone()),
            |server, (name, _, tool)| server.tool(name, tool),
        );
        let mut client = connect(&all, revision).await;
        let refused = client.call("purge_test_orders", json!({})).await;
        assert!(
            failure(&refused).contains("role clerk") && failure(&refused).contains("admin"),
            "{refused}"
        );
        assert_eq!(orders.plan_purge().unwrap().count, 7);
    }
}

#[tokio::test]
async fn every_tool_says_what_it_is_and_does() {
    for revision in BOTH {
        let mut client = connect(&sample(Role::Admin).0, revision).await;
        let tools = client.list("tools/list", "tools").await;
        assert_eq!(tools.len(), 5);
        for tool in &tools {
            let name = tool["name"].as_str().unwrap();
            let changes = matches!(name, "cancel_order" | "purge_test_orders");
            assert_eq!(
                tool["annotations"],
                json!({
                    "readOnlyHint": !changes, "destructiveHint": changes,
                    "idempotentHint": true, "openWorldHint": false,
                }),
                "{name}"
            );
            let description = tool["description"].as_str().unwrap();
            assert!(tool["title"].is_string() && !description.contains('\n'), "{tool}");
            assert_plain(&tool["inputSchema"], name);
            assert_plain(&tool["outputSchema"], name);
        }
        let required = |name: &str, schema: &str| {
            let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
            tool[schema].get("required").cloned()
        };
        assert_eq!(required("count_orders", "inputSchema"), None);
        assert_eq!(required("cancel_order", "inputSchema"), Some(json!(["id"])));
        assert_eq!(required("purge_test_orders", "inputSchema"), None);
        assert_eq!(
            required("count_orders", "outputSchema"),
            Some(json!(["count", "include_test"]))
        );
    }
}

#[tokio::test]
async fn orders_are_counted_listed_by_page_and_read() {
    for revision in BOTH {
        let (server, orders) = sample(Role::Viewer);
        let mut client = connect(&server, revision).await;
        let count = client.call("count_orders", json!({ "status": "paid" })).await;
        assert_eq!(text(&count), "9 paid orders, test orders not counted.");
        assert_eq!(
            count["structuredContent"],
            json!({ "count": 9, "status": "paid", "include_test": false })
        );
        let count = client
            .call("count_orders", json!({ "customer": "민지", "include_test": true }))
            .await;
        assert!(text(&count).contains("of 김민지, test orders included"), "{count}");

        let mut seen = Vec::new();
        let mut ask = json!({ "limit": 20 });
        loop {
            let page = client.call("list_orders", ask.clone()).await["structuredContent"].clone();
            assert_eq!(page["total"], 53);
            let ids = page["orders"]
                .as_array()
                .unwrap()
                .iter()
                .map(|order| order["id"].as_i64().unwrap());
            seen.extend(ids);
            assert!(seen.len() <= 53, "{seen:?}");
            match page.get("next_cursor") {
                Some(cursor) => ask["cursor"] = cursor.clone(),
                None => break,
            }
        }
        assert_eq!(seen.len(), 53);
        assert!(seen.windows(2).all(|pair| pair[0] > pair[1]), "{seen:?}");

        let order = client.call("get_order", json!({ "id": 1 })).await;
        assert_eq!(
            order["structuredContent"],
            serde_json::to_value(orders.find(1).unwrap()).unwrap()
        );
        let as_text: Value = serde_json::from_str(text(&order)).unwrap();
        assert_eq!(as_text, order["structuredContent"]);
    }
}

#[tokio::test]
async fn wrong_arguments_are_errors_the_model_can_mend() {
    let wrong = [
        ("get_order", json!({}), "id"),
        ("get_order", json!({ "id": "1; DROP TABLE orders" }), "id"),
        ("get_order", json!({ "id": 0 }), "id"),
        ("get_order", json!({ "id": 1.5 }), "id"),
        ("count_orders", json!({ "status": "open" }), "status"),
        ("list_orders", json!({ "limit": 101 }), "limit"),
        ("list_orders", json!({ "customer": "" }), "customer"),
        ("cancel_order", json!({ "id": 2, "reason": "x".repeat(501) }), "reason"),
        ("purge_test_orders", json!({ "dry_run": "no" }), "dry_run"),
    ];
    let mended = [
        ("get_order", json!({ "id": 61 }), "between 1 and 60"),
        ("count_orders", json!({ "customer": "홍길동" }), "홍길동"),
        ("list_orders", json!({ "cursor": "made up" }), "next_cursor"),
        ("cancel_order", json!({ "id": 99 }), "list_orders"),
    ];
    for revision in BOTH {
        let mut client = connect(&sample(Role::Admin).0, revision).await;
        for (tool, arguments, part) in wrong.iter().chain(&mended) {
            let result = client.call(tool, arguments.clone()).await;
            assert!(failure(&result).contains(part), "{tool} {arguments}: {result}");
        }
    }
    // Earlier revisions have a protocol error for arguments, and the same text for the rest.
    for revision in ["2024-11-05", "2025-06-18"] {
        let mut client = connect(&sample(Role::Admin).0, revision).await;
        for (tool, arguments, part) in &wrong {
            let params = json!({ "name": tool, "arguments": arguments });
            let reply = client.request("tools/call", params).await;
            assert_eq!(reply["error"]["code"], -32602, "{tool} {arguments}: {reply}");
            assert!(reply["error"]["message"].as_str().unwrap().contains(part), "{reply}");
        }
        for (tool, arguments, part) in &mended {
            let result = client.call(tool, arguments.clone()).await;
            assert!(failure(&result).contains(part), "{tool} {arguments}: {result}");
        }
    }
}

#[tokio::test]
async fn null_for_what_may_be_left_out_is_forgiven() {
    for revision in BOTH {
        let mut client = connect(&sample(Role::Admin).0, revision).await;
        let count = client
            .call(
                "count_orders",
                json!({ "status": null, "customer": null, "include_test": null }),
            )
            .await;
        assert_eq!(count["structuredContent"]["count"], 53, "{count}");
        let plan = client
            .call("purge_test_orders", json!({ "dry_run": null, "fingerprint": null }))
            .await;
        assert_eq!(plan["structuredContent"]["dry_run"], true, "{plan}");
    }
}

#[tokio::test]
async fn the_schema_and_each_order_can_be_read() {
    for revision in BOTH {
        let (server, orders) = sample(Role::Viewer);
        let mut client = connect(&server, revision).await;
        let resources = client.list("resources/list", "resources").await;
        assert_eq!((resources.len(), &resources[0]["uri"]), (1, &json!(SCHEMA_URI)));
        let reply = client.request("resources/read", json!({ "uri": SCHEMA_URI })).await;
        let schema = &reply["result"]["contents"][0];
        assert_eq!(
            (&schema["mimeType"], &schema["text"]),
            (&json!("application/sql"), &json!(SCHEMA))
        );
        let templates = client.list("resources/templates/list", "resourceTemplates").await;
        assert_eq!(
            (templates.len(), &templates[0]["uriTemplate"]),
            (1, &json!(ORDER_TEMPLATE))
        );
        assert_eq!(
            client.read_json("orders://order/7").await,
            serde_json::to_value(orders.find(7).unwrap()).unwrap()
        );
    }
}

#[tokio::test]
async fn an_order_that_is_not_there_is_a_resource_that_is_not_there() {
    for (revision, code) in [("2024-11-05", -32002), ("2025-11-25", -32002), ("2026-07-28", -32602)] {
        let mut client = connect(&sample(Role::Viewer).0, revision).await;
        let uri = "orders://order/61";
        let error = &client.request("resources/read", json!({ "uri": uri })).await["error"];
        assert_eq!((&error["code"], &error["data"]["uri"]), (&json!(code), &json!(uri)));
        assert!(
            error["message"].as_str().unwrap().contains("between 1 and 60"),
            "{error}"
        );
        for uri in ["orders://order/seven", "orders://order/99999999999999999999"] {
            let error = &client.request("resources/read", json!({ "uri": uri })).await["error"];
            assert_eq!(error["code"], -32602, "{error}");
        }
    }
}

#[tokio::test]
async fn the_daily_report_carries_the_facts_of_its_day() {
    for revision in BOTH {
        let (server, orders) = sample(Role::Viewer);
        let mut client = connect(&server, revision).await;
        let prompts = client.list("prompts/list", "prompts").await;
        assert_eq!((prompts.len(), &prompts[0]["name"]), (1, &json!(DAILY_REPORT)));
        assert_eq!(prompts[0]["arguments"][0]["required"], false);
        for (arguments, day) in [
            (json!({}), "2026-10-20"),
            (json!({ "day": "" }), "2026-10-20"),
            (json!({ "day": "2026-10-02" }), "2026-10-02"),
        ] {
            let params = json!({ "name": DAILY_REPORT, "arguments": arguments });
            let reply = client.request("prompts/get", params).await;
            let said = reply["result"]["messages"][0]["content"]["text"].as_str().unwrap();
            assert!(said.ends_with(&orders.daily_report(day).unwrap().text()), "{said}");
        }
        let params = json!({ "name": DAILY_REPORT, "arguments": { "day": "yesterday" } });
        let error = &client.request("prompts/get", params).await["error"];
        assert_eq!(error["code"], -32602);
        assert!(error["message"].as_str().unwrap().contains("2026-10-20"), "{error}");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    let empty = server(Orders::open(file.path()).unwrap(), Role::Viewer);
    let mut client = connect(&empty, "2025-11-25").await;
    let reply = client.request("prompts/get", json!({ "name": DAILY_REPORT })).await;
    let said = reply["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(said.contains("no orders yet"), "{said}");
}

#[tokio::test]
async fn days_and_numbers_are_completed() {
    for revision in BOTH {
        let mut client = connect(&sample(Role::Viewer).0, revision).await;
        let of_prompt = json!({ "type": "ref/prompt", "name": DAILY_REPORT });
        let of_template = json!({ "type": "ref/resource", "uri": ORDER_TEMPLATE });
        assert_eq!(client.complete(of_prompt, "day", "2026-10-2").await, ["2026-10-20"]);
        assert_eq!(client.complete(of_template, "id", "6").await, ["60", "6"]);
    }
}

#[tokio::test]
async fn instructions_name_only_what_the_role_may_use() {
    for (role, cancel, purge) in [
        (Role::Viewer, false, false),
        (Role::Clerk, true, false),
        (Role::Admin, true, true),
    ] {
        let mut client = connect(&sample(role).0, "2026-07-28").await;
        let reply = client.request("server/discover", json!({})).await;
        let said = reply["result"]["instructions"].as_str().unwrap();
        assert_eq!(
            (said.contains("cancel_order"), said.contains("purge_test_orders")),
            (cancel, purge),
            "{said}"
        );
    }
}
