//! A server that does what a test tells it to, at the other end of a memory pipe.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};
use trunkline_gate::client::types::Revision;
use trunkline_gate::client::{Client, Connector, Opening};
use trunkline_transport::Lines;

/// What a peer does about a request.
pub(crate) enum Reply {
    Result(Value),
    Error(i64, &'static str),
    /// These lines, as they are.
    Raw(Vec<String>),
    /// Nothing, ever.
    Silence,
    /// It goes away.
    End,
}

type Script = Box<dyn FnMut(&str, &Value) -> Option<Reply> + Send>;

/// A scripted server: the script is asked first, what it passes over is answered as an ordinary server does.
pub(crate) struct Peer {
    tools: Value,
    capabilities: Value,
    script: Script,
    seen: Seen,
}

/// The requests that a peer got, and whether its input has ended.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<(Vec<Value>, bool)>>);

impl Seen {
    /// The params of every request of one method.
    pub(crate) fn params(&self, method: &str) -> Vec<Value> {
        let seen = self.0.lock().unwrap();
        let wanted = seen.0.iter().filter(|message| message["method"] == method);
        wanted.map(|message| message["params"].clone()).collect()
    }

    pub(crate) fn ended(&self) -> bool {
        self.0.lock().unwrap().1
    }
}

/// A tool that any object fits.
pub(crate) fn tool(name: &str, read_only: bool) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" }, "annotations": { "readOnlyHint": read_only } })
}

/// A result of one text.
pub(crate) fn text(text: &str) -> Reply {
    Reply::Result(json!({ "content": [{ "type": "text", "text": text }] }))
}

impl Peer {
    pub(crate) fn new(tools: Value, script: impl FnMut(&str, &Value) -> Option<Reply> + Send + 'static) -> Self {
        Self {
            tools,
            capabilities: json!({ "tools": {} }),
            script: Box::new(script),
            seen: Seen::default(),
        }
    }

    pub(crate) fn capabilities(mut self, capabilities: Value) -> Self {
        self.capabilities = capabilities;
        self
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen.clone()
    }

    /// Starts the peer; the connector leads to it.
    pub(crate) fn start(self) -> Connector {
        let (near, far_in) = duplex(1 << 20);
        let (far_out, near_in) = duplex(1 << 20);
        tokio::spawn(self.run(far_in, far_out));
        Client::over(Lines::new(near_in, near)).opening(Opening::Fixed(Revision::LATEST_LEGACY))
    }

    async fn run(mut self, input: DuplexStream, mut output: DuplexStream) {
        let mut lines = BufReader::new(input).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            let (id, method) = (message["id"].clone(), message["method"].clone());
            self.seen.0.lock().unwrap().0.push(message.clone());
            if id.is_null() {
                continue;
            }
            // An answer to what the script itself asked is for the script alone.
            let method = method.as_str().unwrap_or("answer");
            let mut reply = (self.script)(method, &message);
            if method == "answer" {
                reply = reply.or(Some(Reply::Silence));
            }
            let answer = match reply.unwrap_or_else(|| self.ordinary(method, &message["params"])) {
                Reply::Result(result) => vec![json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()],
                Reply::Error(code, text) => {
                    let error = json!({ "code": code, "message": text });
                    vec![json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()]
                }
                Reply::Raw(lines) => lines,
                Reply::Silence => continue,
                Reply::End => break,
            };
            for line in answer {
                if output.write_all(format!("{line}\n").as_bytes()).await.is_err() {
                    break;
                }
            }
        }
        self.seen.0.lock().unwrap().1 = true;
    }

    fn ordinary(&self, method: &str, params: &Value) -> Reply {
        match method {
            "initialize" => Reply::Result(json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": self.capabilities,
                "serverInfo": { "name": "scripted", "version": "1" },
            })),
            "tools/list" => Reply::Result(json!({ "tools": self.tools })),
            "tools/call" => text("done"),
            _ => Reply::Error(-32601, "no such method"),
        }
    }
}
