//! Servers at an address, as other programs write them, and as people get them wrong.

use trunkline_gate::client::{Remote, RemoteKind};

use super::*;

fn remote(configuration: &Configuration, id: &str) -> Remote {
    let entry = configuration.servers.iter().find(|server| server.id == id);
    match entry.map(|entry| entry.launch.clone()) {
        Some(Launch::Http(remote)) => remote,
        other => panic!("{id} is {other:?}"),
    }
}

fn at(url: &str) -> Remote {
    Remote::new(url)
}

#[test]
fn addresses_are_read_as_every_program_writes_them() {
    let files = [
        // Claude Code.
        (
            r#"{"mcpServers":{"s":{"type":"http","url":"https://h.example/mcp","headers":{"Authorization":"Bearer ${TOKEN}"}}}}"#,
            at("https://h.example/mcp").header("Authorization", "Bearer s3cret-token"),
        ),
        (
            r#"{"mcpServers":{"s":{"type":"sse","url":"${BASE:-https://h.example}/sse"}}}"#,
            at("https://h.example/sse").kind(RemoteKind::HttpSse),
        ),
        // Claude Desktop and Cursor: the address says it all.
        (
            r#"{"mcpServers":{"s":{"url":"http://localhost:3000/mcp","headers":{"API_KEY":"${env:TOKEN}"}}}}"#,
            at("http://localhost:3000/mcp").header("API_KEY", "s3cret-token"),
        ),
        // VS Code, comments and all.
        (
            r#"{ /* mine */ "servers": { "s": { "type": "http", "url": "https://h.example/mcp", "headers": { "X-Port": 8080, "X-Off": null }, } }, "inputs": [] }"#,
            at("https://h.example/mcp").header("X-Port", "8080"),
        ),
        // Windsurf.
        (
            r#"{"mcpServers":{"s":{"serverUrl":"https://h.example/mcp"}}}"#,
            at("https://h.example/mcp"),
        ),
        // Gemini CLI, FastMCP, Cline.
        (
            r#"{"mcpServers":{"s":{"httpUrl":"https://h.example/mcp"}}}"#,
            at("https://h.example/mcp"),
        ),
        (
            r#"{"mcpServers":{"s":{"transport":"streamable-http","url":"https://h.example/mcp"}}}"#,
            at("https://h.example/mcp").kind(RemoteKind::Streamable),
        ),
        (
            r#"{"mcpServers":{"s":{"type":"streamableHttp","url":"https://h.example/mcp","command":null,"args":[],"env":{}}}}"#,
            at("https://h.example/mcp").kind(RemoteKind::Streamable),
        ),
        // One file for several programs.
        (
            r#"{"mcpServers":{"s":{"url":"https://h.example/mcp","serverUrl":"https://h.example/mcp"}}}"#,
            at("https://h.example/mcp"),
        ),
    ];
    for (text, wanted) in files {
        let configuration = parsed(text);
        assert_eq!(remote(&configuration, "s"), wanted, "{text}");
        assert_eq!(configuration.notes, [""; 0], "{text}");
    }
}

#[test]
fn what_contradicts_itself_is_not_guessed_at() {
    for (entry, part) in [
        (
            r#"{"command":"x","url":"https://h/"}"#,
            "mcpServers.s has both \"command\" and \"url\"",
        ),
        (
            r#"{"type":"stdio","command":"x","serverUrl":"https://h/"}"#,
            "mcpServers.s has both \"command\" and \"serverUrl\"",
        ),
        (
            r#"{"url":"https://h/a","serverUrl":"https://h/b"}"#,
            "mcpServers.s.url and mcpServers.s.serverUrl are not the same",
        ),
        (
            r#"{"type":"http","transport":"sse","url":"https://h/"}"#,
            "mcpServers.s.type and mcpServers.s.transport are not the same",
        ),
        (
            r#"{"type":"stdio","url":"https://h/"}"#,
            "mcpServers.s.type is \"stdio\", which is for a \"command\", and there is a \"url\"",
        ),
        (
            r#"{"type":"sse","command":"x"}"#,
            "mcpServers.s.type is \"sse\", which is for a \"url\", and there is a \"command\"",
        ),
        (
            r#"{"type":"http"}"#,
            "mcpServers.s.type is \"http\", and there is no \"url\"; add the address",
        ),
        (
            r#"{"type":"stdio"}"#,
            "mcpServers.s.type is \"stdio\", and there is no \"command\"",
        ),
        (
            r#"{"type":"carrier-pigeon","command":"x"}"#,
            "mcpServers.s.type is \"carrier-pigeon\", which is not spoken here; there are \"http\"",
        ),
        (
            r#"{"transport":"ws","url":"wss://h/"}"#,
            "mcpServers.s.transport is \"ws\", which is not spoken here",
        ),
        (
            r#"{"type":7,"url":"https://h/"}"#,
            "mcpServers.s.type must be a string, not a number",
        ),
        (
            r#"{"url":"","command":""}"#,
            "mcpServers.s has no \"command\" and no \"url\"",
        ),
    ] {
        let reason = broken(entry);
        assert!(reason.starts_with(part), "{entry}: {reason}");
    }
}

#[test]
fn an_address_or_a_header_that_cannot_be_sent_is_named() {
    for (entry, part) in [
        (r#"{"url":7}"#, "mcpServers.s.url must be a string"),
        (
            r#"{"url":"h.example/mcp"}"#,
            "mcpServers.s: \"h.example/mcp\" cannot be connected to",
        ),
        (
            r#"{"url":"ftp://h.example/"}"#,
            "it does not begin with http:// or https://",
        ),
        (
            r#"{"url":"https://kim:hunter2@h.example/"}"#,
            "a user name or password; give them in a header instead",
        ),
        (
            r#"{"serverUrl":"https://h/${NONE}"}"#,
            "mcpServers.s.serverUrl needs the environment variable NONE",
        ),
        (
            r#"{"url":"https://h/","headers":["A: b"]}"#,
            "mcpServers.s.headers must be an object of strings",
        ),
        (
            r#"{"url":"https://h/","headers":{"A":["hunter2"]}}"#,
            "mcpServers.s.headers.A must be a string",
        ),
        (
            r#"{"url":"https://h/","headers":{"A":"${NONE}"}}"#,
            "mcpServers.s.headers.A needs the environment variable NONE",
        ),
        (
            r#"{"url":"https://h/","headers":{"X-Key":"a","x-key":"b"}}"#,
            "mcpServers.s.headers.x-key stands there twice",
        ),
        (
            r#"{"url":"https://h/","headers":{"Host":"x"}}"#,
            "the header `Host` is set by the transport itself",
        ),
        (
            r#"{"url":"https://h/","headers":{"Mcp-Session-Id":"x"}}"#,
            "`Mcp-Session-Id` is set by the transport",
        ),
        (
            r#"{"url":"https://h/","headers":{"content-length":5}}"#,
            "`content-length` is set by the transport",
        ),
        (
            r#"{"url":"https://h/","headers":{"X Key":"x"}}"#,
            "\"X Key\" is not the name of a header",
        ),
        (
            r#"{"url":"https://h/","headers":{"X-Key":"hunter2\r\nHost: y"}}"#,
            "the value of the header `X-Key` holds",
        ),
        (
            r#"{"url":"https://h/","headers":{"X-Key":"\u0007hunter2"}}"#,
            "the value of the header `X-Key` holds",
        ),
    ] {
        let reason = broken(entry);
        assert!(
            reason.contains(part) && reason.contains("mcpServers.s"),
            "{entry}: {reason}"
        );
        assert!(!reason.contains("hunter2"), "{reason}");
    }
}

#[test]
fn addresses_and_headers_have_bounds() {
    let url = |length: usize| format!(r#"{{"url":"https://h/{}"}}"#, "x".repeat(length - "https://h/".len()));
    assert!(broken(&url(MAX_URL + 1)).contains("mcpServers.s.url has 8193 bytes; 8192 are allowed"));
    let with = |headers: String| format!(r#"{{"url":"https://h/","headers":{{{headers}}}}}"#);
    let many = |count: usize| {
        with(
            (0..count)
                .map(|n| format!("\"X-{n}\":\"v\""))
                .collect::<Vec<_>>()
                .join(","),
        )
    };
    assert!(broken(&many(MAX_HEADERS + 1)).contains("mcpServers.s.headers holds 65 headers; 64 are allowed"));
    let large = |bytes: usize| with(format!("\"X\":\"{}\"", "v".repeat(bytes - 1)));
    assert!(broken(&large(MAX_HEADER_BYTES + 1)).contains("mcpServers.s.headers has 16385 bytes; 16384 are allowed"));
    for fits in [url(MAX_URL), many(MAX_HEADERS), large(MAX_HEADER_BYTES)] {
        remote(&parsed(&format!("{{\"mcpServers\":{{\"s\":{fits}}}}}")), "s");
    }
}

#[test]
fn what_opens_a_server_is_secret_and_its_host_is_not() {
    let set = |name: &str| match name {
        "KEY" => Some("k3y-of-the-query".to_owned()),
        "PART" => Some("short-path".to_owned()),
        "WHERE" => Some("internal.example".to_owned()),
        "BASE" => Some("https://base.example".to_owned()),
        other => variables(other),
    };
    let text = r#"{"mcpServers":{
        "a":{"url":"https://${WHERE}/${PART}/0123456789abcdefghij/mcp?key=${KEY}&other=plain-value"},
        "b":{"url":"${BASE}/mcp","headers":{"Authorization":" Bearer b3arer-of-the-header ","X-Key":"another-k3y"}}}}"#;
    let configuration = parse(Path::new("mcp.json"), text, &set).unwrap();
    let secrets = &configuration.secrets;
    for wanted in [
        "k3y-of-the-query",
        "plain-value",
        "short-path",
        "0123456789abcdefghij",
        "Bearer b3arer-of-the-header",
        "b3arer-of-the-header",
        "another-k3y",
    ] {
        assert!(secrets.iter().any(|secret| secret == wanted), "{wanted}: {secrets:?}");
    }
    assert!(!secrets.iter().any(|secret| secret.contains(".example")), "{secrets:?}");
    let shown = format!("{:?}", configuration.servers);
    assert!(
        shown.contains("https://internal.example/") && shown.contains("X-Key"),
        "{shown}"
    );
    assert!(!shown.contains("k3y") && !shown.contains("b3arer"), "{shown}");
}

#[test]
fn the_keys_of_a_broken_entry_are_secret_all_the_same() {
    let configuration = parsed(r#"{"mcpServers":{"s":{"url":"ftp://h/","headers":{"X-Key":"hunter2-hunter2"}}}}"#);
    assert!(matches!(configuration.servers[0].launch, Launch::Broken { .. }));
    assert!(configuration.secrets.contains(&"hunter2-hunter2".to_owned()));
}

#[test]
fn keys_that_say_nothing_here_are_mentioned() {
    for (entry, part) in [
        (
            r#"{"url":"https://h/","env":{"A":"b"}}"#,
            "mcpServers.s.env is not used: no program is started",
        ),
        (
            r#"{"url":"https://h/","oauth":{"clientId":"x"}}"#,
            "mcpServers.s.oauth is not used; put what authorizes you",
        ),
        (
            r#"{"url":"https://h/","headersHelper":"x.sh"}"#,
            "mcpServers.s.headersHelper is not used",
        ),
        (
            r#"{"command":"x","headers":{"A":"b"}}"#,
            "mcpServers.s.headers is not read",
        ),
    ] {
        let configuration = parsed(&format!("{{\"mcpServers\":{{\"s\":{entry}}}}}"));
        assert!(
            configuration.notes[0].starts_with(part),
            "{entry}: {:?}",
            configuration.notes
        );
        assert!(
            !matches!(configuration.servers[0].launch, Launch::Broken { .. }),
            "{entry}"
        );
    }
}
