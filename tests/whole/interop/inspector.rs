//! The Inspector's command line, reading our servers over every transport.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::shipped::Shipped;
use super::{Way, at};

const LAUNCHER: &str = ".tools/node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js";

struct Inspector<'a> {
    home: &'a Path,
    era: &'static str,
}

impl Inspector<'_> {
    /// The exit status, and what it shows on stdout or else says on stderr.
    fn inspect(&self, server: &Shipped, arguments: &[&str]) -> (i32, Value) {
        let output = Command::new(at(".tools/bin/node"))
            .args([&at(LAUNCHER), "--cli", "--format", "json", "--protocol-era", self.era])
            .args(arguments)
            .args(server.arguments())
            .env("HOME", self.home)
            .output()
            .expect("the inspector starts");
        let stdout = String::from_utf8_lossy(&output.stdout);
        let stderr = String::from_utf8_lossy(&output.stderr);
        let shown = serde_json::from_str(&stdout).unwrap_or_else(|_| json!(stderr));
        (output.status.code().unwrap_or(-1), shown)
    }

    fn call(&self, server: &Shipped, tool: &str, arguments: &Value) -> (i32, Value) {
        let arguments = arguments.to_string();
        let called = [
            "--method",
            "tools/call",
            "--tool-name",
            tool,
            "--tool-args-json",
            &arguments,
        ];
        self.inspect(server, &called)
    }

    fn reads_weather(&self, server: &Shipped) {
        let era = self.era;
        let (status, tools) = self.inspect(server, &["--strict", "--method", "tools/list"]);
        assert_eq!(
            (status, &tools["result"]["tools"][0]["name"]),
            (0, &json!("get_weather")),
            "{era}: {tools}"
        );
        let (status, called) = self.call(server, "get_weather", &json!({ "city": "서울" }));
        assert_eq!(
            (status, &called["result"]["structuredContent"]["city"]),
            (0, &json!("Seoul")),
            "{era}: {called}"
        );
        let (status, failed) = self.call(server, "get_weather", &json!({ "city": "Nowhereville" }));
        assert_eq!(status, 5, "a tool that failed: {era}: {failed}");
        let (status, read) = self.inspect(server, &["--method", "resources/read", "--uri", "weather://cities"]);
        assert_eq!(status, 0, "{era}: {read}");
    }

    fn reads_orders(&self, server: &Shipped) {
        let era = self.era;
        let (status, templates) = self.inspect(server, &["--method", "resources/templates/list"]);
        assert_eq!(status, 0, "{era}: {templates}");
        let (status, orders) = self.inspect(server, &["--strict", "--method", "tools/list"]);
        assert_eq!(
            (status, orders["result"]["tools"].as_array().map(Vec::len)),
            (0, Some(5)),
            "{era}: {orders}"
        );
    }
}

fn reads_our_servers(way: Way) {
    let home = tempfile::tempdir().expect("an empty home");
    let weather = Shipped::start(&["weather"], way);
    let orders = Shipped::start(&["orders", "--role", "admin"], way);
    // Over the first HTTP transport there is no modern era; it must find that out.
    let other = if way == Way::HttpSse { "auto" } else { "modern" };
    for era in ["legacy", other] {
        let inspector = Inspector { home: home.path(), era };
        inspector.reads_weather(&weather);
        inspector.reads_orders(&orders);
    }
    weather.end();
    orders.end();
}

#[test]
fn it_reads_our_servers_over_stdio() {
    reads_our_servers(Way::Stdio);
}

#[test]
fn it_reads_our_servers_over_http() {
    reads_our_servers(Way::Http);
}

#[test]
fn it_reads_our_servers_over_the_first_http_transport() {
    reads_our_servers(Way::HttpSse);
}
