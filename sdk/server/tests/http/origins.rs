//! Who may call: names of the server, and pages of the web
//! ([security](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/streamable-http#security-%26-endpoint)).

use serde_json::{Value, json};
use trunkline_server::HttpOptions;

use crate::speak::{NEWEST_LEGACY, initialize, modern_call};
use crate::stage::Served;
use crate::wire::Request;

fn echo() -> Request {
    modern_call(1, "echo", json!({ "text": "hi" }))
}

#[tokio::test]
async fn only_names_and_pages_of_this_machine_are_let_in() {
    let served = Served::start().await;
    let port = served.address.port();
    let (here, page) = (format!("127.0.0.1:{port}"), format!("http://localhost:{port}"));
    for (host, origin, is_let_in) in [
        ("localhost", None, true),
        (&here, None, true),
        ("[::1]:1", None, true),
        ("LOCALHOST:1", None, true),
        ("evil.example.com", None, false),
        ("localhost.evil.example.com", None, false),
        ("127.0.0.1.nip.io", None, false),
        ("localhost@evil.example.com", None, false),
        ("", None, false),
        ("localhost", Some(page.as_str()), true),
        ("localhost", Some("http://127.0.0.1:9"), true),
        ("localhost", Some("http://[::1]"), true),
        ("localhost", Some("http://evil.example.com"), false),
        ("localhost", Some("null"), false),
        ("localhost", Some(""), false),
        ("localhost", Some("http://localhost.evil.example.com"), false),
        ("localhost", Some("http://localhost@evil.example.com"), false),
        ("localhost", Some("http://localhost:80.evil.example.com"), false),
        ("localhost", Some("http://localhost/evil.example.com"), false),
        ("localhost", Some("file://"), false),
        ("evil.example.com", Some("http://evil.example.com"), false),
    ] {
        for request in [echo(), initialize(1, NEWEST_LEGACY, json!({}))] {
            let mut request = request.with("Host", host);
            if let Some(origin) = origin {
                request = request.header("Origin", origin);
            }
            let answer = served.ask(&request).await;
            assert_eq!(answer.status(), if is_let_in { 200 } else { 403 }, "{host} {origin:?}");
            let told = answer.head.get("access-control-allow-origin");
            assert_eq!(told, origin.filter(|_| is_let_in), "{host} {origin:?}");
            if !is_let_in {
                assert_eq!(answer.error(), (403, -32600, Value::Null));
            }
        }
    }
    served.stop().await;
}

#[tokio::test]
async fn every_door_is_watched() {
    let served = Served::start().await;
    let events = |request: Request| request.header("Accept", "text/event-stream");
    for request in [
        echo(),
        initialize(1, NEWEST_LEGACY, json!({})),
        Request::get(),
        Request::new("DELETE", "/mcp"),
        Request::new("OPTIONS", "/mcp"),
        events(Request::new("GET", "/sse")),
        Request::new("POST", "/messages?sessionId=0"),
    ] {
        let strange = request.clone().header("Origin", "http://evil.example.com");
        assert_eq!(served.ask(&strange).await.status(), 403, "{request:?}");
        let strange = request.clone().with("Host", "evil.example.com");
        assert_eq!(served.ask(&strange).await.status(), 403, "{request:?}");
        let twice = request.clone().header("Host", "evil.example.com");
        assert!(matches!(served.ask(&twice).await.status(), 400 | 403), "{request:?}");
        let twice = request
            .header("Origin", "http://localhost")
            .header("Origin", "http://evil.example.com");
        assert_eq!(served.ask(&twice).await.status(), 403);
    }
    let nameless = Request::new("POST", "/mcp").without("Host");
    assert!(matches!(served.ask(&nameless).await.status(), 400 | 403));
    // A name in the target of the request counts as little as one in its header.
    let absolute = Request::new("GET", "http://evil.example.com/mcp").without("Host");
    assert_eq!(served.ask(&absolute).await.status(), 403);
    assert_eq!(served.endpoint.sessions(), 0);
    served.stop().await;
}

#[tokio::test]
async fn what_its_owner_allows_is_let_in() {
    let options = HttpOptions::default()
        .allow_host("mcp.example.com")
        .allow_origin("https://app.example.com");
    let served = Served::with(options).await;
    for (host, origin, status) in [
        ("mcp.example.com", "https://app.example.com", 200),
        ("MCP.example.com:443", "https://APP.example.com", 200),
        ("mcp.example.com", "http://app.example.com", 403),
        ("mcp.example.com", "https://app.example.com:8443", 403),
        ("other.example.com", "https://app.example.com", 403),
    ] {
        let request = echo().with("Host", host).header("Origin", origin);
        assert_eq!(served.ask(&request).await.status(), status, "{host} {origin}");
    }
    served.stop().await;
    let served = Served::with(HttpOptions::default().allow_any_host().allow_any_origin()).await;
    let request = echo().with("Host", "any.example").header("Origin", "null");
    let answer = served.ask(&request).await;
    assert_eq!(answer.head.get("access-control-allow-origin"), Some("null"));
    served.stop().await;
}

/// What a browser asks before it lets a page call, and what it lets the page see.
#[tokio::test]
async fn a_page_learns_what_it_may_send_and_read() {
    let served = Served::start().await;
    let preflight = Request::new("OPTIONS", "/mcp")
        .header("Origin", "http://localhost:5173")
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "content-type, mcp-param-region");
    let answer = served.ask(&preflight).await;
    assert_eq!((answer.status(), answer.body.len()), (204, 0));
    let lists = |name: &str| -> Vec<String> {
        let value = answer.head.get(name).unwrap_or_else(|| panic!("{name} is missing"));
        value.split(',').map(|part| part.trim().to_ascii_lowercase()).collect()
    };
    assert_eq!(lists("access-control-allow-origin"), ["http://localhost:5173"]);
    assert_eq!(lists("vary"), ["origin"], "the answer is not for other pages");
    let methods = lists("access-control-allow-methods");
    assert!(
        ["post", "get", "delete"]
            .iter()
            .all(|method| methods.contains(&(*method).to_owned())),
        "{methods:?}"
    );
    let headers = lists("access-control-allow-headers");
    for header in [
        "content-type",
        "authorization",
        "mcp-protocol-version",
        "mcp-session-id",
        "mcp-method",
        "mcp-name",
        "last-event-id",
        // The parameters that tools mirror have names of their own.
        "*",
    ] {
        assert!(headers.contains(&header.to_owned()), "{header}: {headers:?}");
    }
    assert!(lists("access-control-max-age")[0].parse::<u32>().unwrap() > 0);
    let opened = served
        .ask(&initialize(1, NEWEST_LEGACY, json!({})).header("Origin", "http://localhost:5173"))
        .await;
    let exposed = opened.head.get("access-control-expose-headers").unwrap();
    assert!(
        exposed.contains("mcp-session-id") && exposed.contains("www-authenticate"),
        "{exposed}"
    );
    // A refusal is readable too, and an answer to no page says nothing of pages.
    let refused = served.ask(&Request::get().header("Origin", "http://localhost")).await;
    assert_eq!((refused.status(), refused.head.get("vary")), (400, Some("Origin")));
    assert_eq!(served.ask(&echo()).await.head.get("access-control-allow-origin"), None);
    served.stop().await;
}
