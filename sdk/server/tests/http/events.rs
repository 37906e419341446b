//! A stream of events, read as it comes.

use serde_json::Value;

use crate::wire::{Connection, Request, within};

/// What stands between two blank lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) id: Option<String>,
    pub(crate) event: Option<String>,
    pub(crate) data: Option<String>,
    pub(crate) retry: Option<String>,
    pub(crate) is_comment: bool,
}

impl Block {
    fn parse(text: &str) -> Self {
        let mut block = Self::default();
        for line in text.split('\n') {
            let (name, value) = line.split_once(':').expect(line);
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match name {
                "" => block.is_comment = true,
                "id" => block.id = Some(value),
                "event" => block.event = Some(value),
                "retry" => block.retry = Some(value),
                "data" => assert!(block.data.replace(value).is_none(), "a message is one line: {text}"),
                _ => panic!("{line:?}"),
            }
        }
        block
    }

    /// The message in it.
    pub(crate) fn json(&self) -> Value {
        let data = self.data.as_deref().unwrap_or_else(|| panic!("no data in {self:?}"));
        serde_json::from_str(data).unwrap_or_else(|_| panic!("no message in {self:?}"))
    }
}

/// An answer that is a stream of events.
#[derive(Debug)]
pub(crate) struct Events {
    connection: Connection,
    text: String,
    over: bool,
}

impl Events {
    /// Reads the head of the answer that is due on a connection: a stream of events.
    pub(crate) async fn begin(mut connection: Connection) -> Self {
        let head = connection.head().await;
        assert_eq!(head.status, 200, "{head:?}");
        assert_eq!(head.get("content-type"), Some("text/event-stream"), "{head:?}");
        // What may hold events back is told not to.
        if head.get("content-length") != Some("0") {
            assert_eq!(head.get("x-accel-buffering"), Some("no"), "{head:?}");
            assert_eq!(head.get("cache-control"), Some("no-cache, no-transform"), "{head:?}");
        }
        let over = head.get("content-length") == Some("0");
        Self {
            connection,
            text: String::new(),
            over,
        }
    }

    /// Sends a request that is answered by events.
    pub(crate) async fn open(mut connection: Connection, request: &Request) -> Self {
        connection.write(&request.bytes()).await;
        Self::begin(connection).await
    }

    /// The next block, comments included; `None` at the end of the stream.
    pub(crate) async fn block(&mut self) -> Option<Block> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let block = Block::parse(&self.text[..end]);
                self.text.drain(..end + 2);
                return Some(block);
            }
            if self.over {
                assert_eq!(self.text, "", "the stream ends between two events");
                return None;
            }
            let piece = self.connection.chunk().await.expect("the stream broke off");
            self.over = piece.is_empty();
            self.text.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }

    /// The next block with a message in it.
    pub(crate) async fn event(&mut self) -> Option<Block> {
        // Signs of life come for ever.
        within("a message", async {
            loop {
                let block = self.block().await?;
                if block.data.as_deref().is_some_and(|data| !data.is_empty()) {
                    return Some(block);
                }
            }
        })
        .await
    }

    /// The next message, which must come.
    pub(crate) async fn message(&mut self) -> Value {
        self.event().await.expect("the stream ended").json()
    }

    /// Every message up to the end.
    pub(crate) async fn messages(&mut self) -> Vec<Value> {
        let mut messages = Vec::new();
        while let Some(event) = self.event().await {
            messages.push(event.json());
        }
        messages
    }
}
