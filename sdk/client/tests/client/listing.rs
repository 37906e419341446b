//! Lists, their pages and their caches, and the check of structured results.

use std::time::Duration;

use serde_json::{Value, json};
use trunkline_client::types::Revision;
use trunkline_client::{CallError, Client, MAX_LIST_PAGES, MAX_TTL};

use crate::peer::{Peer, legacy, legacy_with, modern, text};

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

fn page(tools: &[Value], next: Option<&str>) -> Value {
    let mut page = json!({ "resultType": "complete", "tools": tools, "ttlMs": 0, "cacheScope": "private" });
    if let Some(next) = next {
        page["nextCursor"] = next.into();
    }
    page
}

fn good_for(milliseconds: u64) -> Value {
    json!({ "resultType": "complete", "tools": [tool("t")], "ttlMs": milliseconds, "cacheScope": "private" })
}

fn names(listing: &trunkline_client::Listing<trunkline_client::types::Tool>) -> Vec<&str> {
    listing.items.iter().map(|tool| tool.name.as_str()).collect()
}

/// Asserts that the next request is not a list: that the list came from the cache.
async fn is_cached(peer: &mut Peer, client: &Client) {
    let ask = async {
        client.tools().await.unwrap();
        client.call("probe", &()).await.map(drop)
    };
    let (_, _) = tokio::join!(ask, peer.serve("tools/call", text("ok")));
}

async fn is_read(peer: &mut Peer, client: &Client, result: Value) {
    let (listing, _) = tokio::join!(client.tools(), peer.serve("tools/list", result));
    listing.unwrap();
}

#[tokio::test]
async fn all_pages_are_read_and_an_empty_cursor_is_one() {
    let (mut peer, client) = modern(json!({ "tools": {} })).await;
    let serve = async {
        let first = peer.serve("tools/list", page(&[tool("a")], Some(""))).await;
        assert_eq!(first["params"].get("cursor"), None);
        let second = peer.serve("tools/list", page(&[tool("b")], Some("x y"))).await;
        assert_eq!(second["params"]["cursor"], "");
        let third = peer.serve("tools/list", page(&[tool("c")], None)).await;
        assert_eq!(third["params"]["cursor"], "x y");
    };
    let (listing, ()) = tokio::join!(client.tools(), serve);
    let listing = listing.unwrap();
    assert_eq!(names(&listing), ["a", "b", "c"]);
    assert_eq!((listing.rejected.len(), listing.warnings.len()), (0, 0));
}

#[tokio::test]
async fn one_bad_item_does_not_spoil_the_rest() {
    let (mut peer, client) = modern(json!({ "tools": {}, "resources": {}, "prompts": {} })).await;
    let tools = [
        tool("good"),
        json!({ "name": "no schema" }),
        json!({ "name": "null schema", "inputSchema": null }),
        json!({ "name": 7, "inputSchema": {} }),
        json!("not even an object"),
        json!({ "name": "", "inputSchema": {} }),
        tool("good"),
        tool("also good"),
    ];
    let serve = async {
        peer.serve("tools/list", page(&tools, None)).await;
        let resources =
            json!({ "resultType": "complete", "resources": [{ "name": "no uri" }, { "uri": "test://a" }], "ttlMs": 0 });
        peer.serve("resources/list", resources).await;
        let templates = json!({ "resultType": "complete", "resourceTemplates": [{ "uriTemplate": 3 }, { "uriTemplate": "test://{a}", "name": "t" }] });
        peer.serve("resources/templates/list", templates).await;
        let prompts =
            json!({ "resultType": "complete", "prompts": [{ "name": "p", "arguments": 3 }, { "name": "q" }] });
        peer.serve("prompts/list", prompts).await;
    };
    let ask = async {
        let tools = client.tools().await.unwrap();
        assert_eq!(names(&tools), ["good", "also good"]);
        let rejected: Vec<_> = tools.rejected.iter().map(|one| one.name.as_deref()).collect();
        assert_eq!(rejected, [Some("no schema"), Some("null schema"), None, None, Some("")]);
        assert!(tools.rejected[0].why.contains("inputSchema"), "{:?}", tools.rejected[0]);
        assert_eq!(tools.warnings.len(), 1, "{:?}", tools.warnings);
        assert!(tools.warnings[0].contains("\"good\""), "{:?}", tools.warnings);
        let resources = client.resources().await.unwrap();
        assert_eq!((resources.items.len(), resources.rejected.len()), (1, 1));
        let templates = client.resource_templates().await.unwrap();
        assert_eq!((templates.items.len(), templates.rejected.len()), (1, 1));
        let prompts = client.prompts().await.unwrap();
        assert_eq!((prompts.items.len(), prompts.rejected.len()), (1, 1));
        assert_eq!(prompts.rejected[0].name.as_deref(), Some("p"));
    };
    tokio::join!(ask, serve);
}

#[tokio::test]
async fn what_is_declared_but_not_served_is_empty_with_a_warning() {
    let (mut peer, client) = legacy(json!({ "resources": {} })).await;
    let serve = async {
        let request = peer.expect("resources/list").await;
        peer.refuse(&request, -32601, "what?").await;
    };
    let (resources, ()) = tokio::join!(client.resources(), serve);
    let resources = resources.unwrap();
    assert!(resources.items.is_empty());
    assert_eq!(resources.warnings.len(), 1, "C-15");
    let tools = client.tools().await.unwrap();
    assert!(
        tools.items.is_empty() && tools.warnings.is_empty(),
        "not declared, not asked"
    );
}

#[tokio::test]
async fn a_list_that_cannot_be_had_is_an_error_and_one_that_breaks_off_is_kept() {
    let (mut peer, client) = modern(json!({ "tools": {} })).await;
    let serve = async {
        let request = peer.expect("tools/list").await;
        peer.refuse(&request, -32603, "broken").await;
        peer.serve("tools/list", json!({ "resultType": "complete", "tools": 7 }))
            .await;
        let mut first = page(&[tool("a")], Some("2"));
        // What is not whole is not kept, however long the server says that it is good.
        first["ttlMs"] = 60_000.into();
        peer.serve("tools/list", first.clone()).await;
        let request = peer.expect("tools/list").await;
        peer.refuse(&request, -32602, "no such cursor").await;
        peer.serve("tools/list", first).await;
        peer.serve("tools/list", json!({ "resultType": "complete" })).await;
    };
    let ask = async {
        assert!(matches!(client.tools().await, Err(CallError::Refused(_))));
        assert!(matches!(client.tools().await, Err(CallError::Invalid(_))));
        for _ in 0..2 {
            let listing = client.tools().await.unwrap();
            assert_eq!(names(&listing), ["a"]);
            assert!(listing.warnings[0].contains("page 2"), "{:?}", listing.warnings);
        }
    };
    tokio::join!(ask, serve);
}

#[tokio::test]
async fn endless_lists_end() {
    let (mut peer, client) = modern(json!({ "tools": {} })).await;
    // The same page again and again.
    let serve = async {
        for _ in 0..2 {
            peer.serve("tools/list", page(&[tool("t1")], Some("c"))).await;
        }
        // A circle of cursors.
        for cursor in ["c1", "c2", "c1"] {
            peer.serve("tools/list", page(&[tool(cursor)], Some(cursor))).await;
        }
        // A new cursor each time, and nothing new.
        peer.serve("tools/list", page(&[tool("t1")], Some("0"))).await;
        for cursor in ["1", "2", "3"] {
            peer.serve("tools/list", page(&[tool("t1")], Some(cursor))).await;
        }
        // A new cursor and a new tool each time.
        for n in 0..MAX_LIST_PAGES {
            let n = n.to_string();
            peer.serve("tools/list", page(&[tool(&n)], Some(&n))).await;
        }
    };
    let ask = async {
        for (count, why) in [
            (1, "same cursor"),
            (2, "same cursor"),
            (1, "nothing new"),
            (MAX_LIST_PAGES, "pages"),
        ] {
            let listing = client.tools().await.unwrap();
            assert_eq!(listing.items.len(), count, "C-22");
            let last = listing.warnings.last().unwrap();
            assert!(last.contains(why), "{last}");
        }
    };
    tokio::join!(ask, serve);
}

#[tokio::test(start_paused = true)]
async fn a_modern_list_is_kept_as_long_as_the_server_says() {
    let (mut peer, client) = modern(json!({ "tools": { "listChanged": true } })).await;
    is_read(&mut peer, &client, good_for(1000)).await;
    tokio::time::advance(Duration::from_millis(990)).await;
    is_cached(&mut peer, &client).await;
    tokio::time::advance(Duration::from_millis(10)).await;
    is_read(&mut peer, &client, good_for(0)).await;
    is_read(
        &mut peer,
        &client,
        json!({ "resultType": "complete", "tools": [], "ttlMs": -5 }),
    )
    .await;
    is_read(&mut peer, &client, json!({ "resultType": "complete", "tools": [] })).await;
    is_read(&mut peer, &client, good_for(u64::MAX >> 1)).await;
    is_cached(&mut peer, &client).await;
    tokio::time::advance(MAX_TTL).await;
    is_read(&mut peer, &client, good_for(60_000)).await;
    client.clear_cache();
    is_read(&mut peer, &client, good_for(60_000)).await;
    is_cached(&mut peer, &client).await;
}

#[tokio::test(start_paused = true)]
async fn a_list_is_as_good_as_its_worst_page() {
    for times in [[60_000, 1000], [1000, 60_000]] {
        let (mut peer, client) = modern(json!({ "tools": {} })).await;
        let serve = async {
            for (cursor, ttl) in [Some("2"), None].into_iter().zip(times) {
                let mut result = page(&[tool(&ttl.to_string())], cursor);
                result["ttlMs"] = ttl.into();
                peer.serve("tools/list", result).await;
            }
            peer
        };
        let (listing, mut peer) = tokio::join!(client.tools(), serve);
        listing.unwrap();
        is_cached(&mut peer, &client).await;
        tokio::time::advance(Duration::from_millis(1001)).await;
        is_read(&mut peer, &client, good_for(0)).await;
    }
}

#[tokio::test]
async fn a_storm_of_notices_causes_one_reading() {
    let (mut peer, client) = legacy(json!({ "tools": { "listChanged": true } })).await;
    is_read(&mut peer, &client, json!({ "tools": [tool("t")] })).await;
    let serve = async {
        let request = peer.expect("tools/call").await;
        for _ in 0..200 {
            peer.notify("notifications/tools/list_changed", json!({})).await;
        }
        peer.answer(&request, json!({ "content": [] })).await;
    };
    let (called, ()) = tokio::join!(client.call("t", &()), serve);
    called.unwrap();
    // C-23: one reading for all of them, whoever asks.
    let ask = async { tokio::join!(client.tools(), client.tools(), client.tools()) };
    let (listings, _) = tokio::join!(
        ask,
        peer.serve("tools/list", json!({ "tools": [tool("t"), tool("u")] }))
    );
    for listing in [listings.0, listings.1, listings.2] {
        assert_eq!(names(&listing.unwrap()), ["t", "u"]);
    }
    is_cached_legacy(&mut peer, &client).await;
}

async fn is_cached_legacy(peer: &mut Peer, client: &Client) {
    let ask = async {
        client.tools().await.unwrap();
        client.ping().await.unwrap();
    };
    tokio::join!(ask, peer.serve("ping", json!({})));
}

#[tokio::test]
async fn a_legacy_list_is_kept_only_if_changes_are_announced() {
    let (mut peer, client) = legacy(json!({ "tools": {} })).await;
    for _ in 0..2 {
        is_read(&mut peer, &client, json!({ "tools": [tool("t")], "ttlMs": 60_000 })).await;
    }
    let (mut peer, client) = legacy(json!({ "tools": { "listChanged": true } })).await;
    is_read(&mut peer, &client, json!({ "tools": [tool("t")] })).await;
    is_cached_legacy(&mut peer, &client).await;
}

#[tokio::test]
async fn a_change_while_a_list_is_read_makes_it_old() {
    let (mut peer, client) = modern(json!({ "tools": { "listChanged": true } })).await;
    let serve = async {
        let request = peer.expect("tools/list").await;
        peer.notify("notifications/tools/list_changed", json!({})).await;
        peer.answer(&request, good_for(60_000)).await;
        peer
    };
    let (listing, mut peer) = tokio::join!(client.tools(), serve);
    listing.unwrap();
    is_read(&mut peer, &client, good_for(60_000)).await;
    is_cached(&mut peer, &client).await;
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_list_shares_what_comes_even_a_failure() {
    let (mut peer, client) = modern(json!({ "tools": {} })).await;
    let serve = async {
        peer.expect("tools/list").await;
        peer.expect("notifications/cancelled").await;
    };
    let ask = async { tokio::join!(client.tools(), client.tools(), client.tools()) };
    let (listings, ()) = tokio::join!(ask, serve);
    for listing in [listings.0, listings.1, listings.2] {
        assert_eq!(listing, Err(CallError::TimedOut));
    }
    is_read(&mut peer, &client, good_for(0)).await;
}

fn sum_tool() -> Value {
    json!({
        "name": "add", "inputSchema": { "type": "object" },
        "outputSchema": { "type": "object", "properties": { "sum": { "type": "integer" } }, "required": ["sum"], "additionalProperties": false },
    })
}

fn structured(value: &Value) -> Value {
    json!({ "resultType": "complete", "content": [], "structuredContent": value })
}

#[tokio::test]
async fn structured_results_of_listed_tools_are_checked() {
    let (mut peer, client) = modern(json!({ "tools": {} })).await;
    let unlisted = structured(&json!({ "sum": "x" }));
    let (called, _) = tokio::join!(client.call("add", &()), peer.serve("tools/call", unlisted));
    called.unwrap();
    is_read(&mut peer, &client, page(&[sum_tool()], None)).await;
    let failed = json!({ "resultType": "complete", "content": [{ "type": "text", "text": "no" }], "isError": true });
    for (result, fits) in [
        // C-19: `content` and the like are not part of what is checked.
        (structured(&json!({ "sum": 3 })), true),
        (structured(&json!({ "sum": "3" })), false),
        (structured(&json!({ "sum": 3, "more": 1 })), false),
        (text("3"), false),
        (failed, true),
    ] {
        let (called, _) = tokio::join!(client.call("add", &()), peer.serve("tools/call", result.clone()));
        match called {
            Ok(_) => assert!(fits, "{result}"),
            Err(error) => {
                assert!(!fits && matches!(error, CallError::Mismatch(_)), "{result}: {error}");
                assert!(error.may_have_run());
            }
        }
    }
    // The list changed, and the schema with it, perhaps.
    peer.notify("notifications/tools/list_changed", json!({})).await;
    let wrong = structured(&json!({ "sum": "x" }));
    let (called, _) = tokio::join!(client.call("add", &()), peer.serve("tools/call", wrong));
    called.unwrap();
}

#[tokio::test]
async fn a_schema_that_cannot_be_used_is_said_so_and_not_checked() {
    let (mut peer, client) = modern(json!({ "tools": {} })).await;
    let mut bad = sum_tool();
    bad["outputSchema"] = json!({ "$ref": "http://127.0.0.1:9/x" });
    let (listing, _) = tokio::join!(client.tools(), peer.serve("tools/list", page(&[bad, tool("t")], None)));
    let listing = listing.unwrap();
    assert_eq!(names(&listing), ["add", "t"], "the tool is kept");
    assert!(
        listing.warnings[0].contains("\"add\"") && listing.warnings[0].contains("127.0.0.1:9"),
        "{:?}",
        listing.warnings
    );
    let (called, _) = tokio::join!(client.call("add", &()), peer.serve("tools/call", text("3")));
    called.unwrap();
}

#[tokio::test]
async fn revisions_without_structured_results_are_not_checked() {
    let (mut peer, client) = legacy_with(Revision::V2025_03_26, json!({ "tools": {} }), |connector| connector).await;
    is_read(&mut peer, &client, json!({ "tools": [sum_tool()] })).await;
    let result = json!({ "content": [{ "type": "text", "text": "{\"sum\":3}" }] });
    let (called, _) = tokio::join!(client.call("add", &()), peer.serve("tools/call", result));
    assert_eq!(called.unwrap().structured::<Value>().unwrap(), json!({ "sum": 3 }));
}
