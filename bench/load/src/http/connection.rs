//! One kept connection to an MCP server over HTTP.

use std::io::Write as _;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::response::{self, Body, Head};
use crate::fault::{Fault, Outcome};
use crate::message::{self, Era, Tool, shown};

const PATH: &str = "/mcp";
/// The room that each read has at least.
const READ: usize = 64 * 1024;
/// The pieces of a long message.
const PIECE: usize = 4 * 1024;

/// One kept connection, with the session that its requests belong to.
#[derive(Debug)]
pub(crate) struct Connection {
    address: SocketAddr,
    socket: TcpStream,
    era: Era,
    session: Option<String>,
    request: Vec<u8>,
    message: Vec<u8>,
    read: Vec<u8>,
    status: u16,
    events: bool,
    /// The body of the last response, without its frames.
    body: Vec<u8>,
}

impl Connection {
    pub(crate) async fn new(address: SocketAddr, era: Era) -> Outcome<Self> {
        Ok(Self::with(open(address).await?, address, era))
    }

    /// Over a socket that is connected already.
    pub(crate) fn over(socket: std::net::TcpStream, address: SocketAddr, era: Era) -> Outcome<Self> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        Ok(Self::with(TcpStream::from_std(socket)?, address, era))
    }

    fn with(socket: TcpStream, address: SocketAddr, era: Era) -> Self {
        Self {
            address,
            socket,
            era,
            session: None,
            request: Vec::new(),
            message: Vec::new(),
            read: Vec::new(),
            status: 0,
            events: false,
            body: Vec::new(),
        }
    }

    /// Opens a session, in the legacy era. Its id, if the server has sessions.
    pub(crate) async fn handshake(&mut self) -> Outcome<Option<String>> {
        if self.era == Era::Modern {
            return Ok(None);
        }
        self.session = None;
        self.post(&message::initialize(0), "initialize", None).await?;
        self.expect(|message| message::check_initialized(message, 0))?;
        self.post(message::INITIALIZED, "notifications/initialized", None)
            .await?;
        if self.status / 100 != 2 {
            return Err(Fault::new(format!("HTTP {}", self.status)).during("notifications/initialized"));
        }
        Ok(self.session.clone())
    }

    /// Asks for the tools, and checks that the measured ones are there.
    pub(crate) async fn list(&mut self) -> Outcome<()> {
        self.post(&message::list_tools(0, self.era), "tools/list", None).await?;
        self.expect(|message| message::check_list(message, 0))
    }

    /// Makes one call.
    pub(crate) async fn call(&mut self, id: u64, tool: Tool) -> Outcome<()> {
        let mut request = std::mem::take(&mut self.message);
        request.clear();
        message::call(&mut request, id, tool, self.era);
        let posted = self.post(&request, "tools/call", Some(tool)).await;
        self.message = request;
        posted?;
        self.expect(|message| match message::check_call(message, tool)? {
            None => Ok(false),
            Some(answered) if answered == id => Ok(true),
            Some(answered) => Err(Fault::new(format!("id {answered} was answered and {id} was asked"))),
        })
    }

    /// Has a text of that many bytes echoed that comes in small pieces.
    pub(crate) async fn long_echo(&mut self, bytes: usize) -> Outcome<()> {
        let message = message::long_echo(1, bytes);
        self.start_request("POST", Some(message.len()), "tools/call", Some(Tool::Echo));
        self.socket.write_all(&self.request).await?;
        for piece in message.chunks(PIECE) {
            self.socket.write_all(piece).await?;
        }
        self.read_response().await?;
        self.expect(|message| message::check_long_echo(message, 1, bytes))
    }

    /// Opens the stream of a session that belongs to no request. It stays open with the connection.
    pub(crate) async fn open_stream(&mut self, session: &str) -> Outcome<()> {
        self.session = Some(session.to_owned());
        self.start_request("GET", None, "", None);
        self.socket.write_all(&self.request).await?;
        self.read.clear();
        let (head, _) = self.read_head().await?;
        if head.status == 200 && head.events {
            Ok(())
        } else {
            Err(Fault::new(format!("HTTP {}", head.status)).during("a stream of a session"))
        }
    }

    /// Sends one message and reads the whole response, after which the connection can be used again.
    async fn post(&mut self, message: &[u8], method: &str, tool: Option<Tool>) -> Outcome<()> {
        self.start_request("POST", Some(message.len()), method, tool);
        self.request.extend_from_slice(message);
        self.socket.write_all(&self.request).await?;
        self.read_response().await
    }

    fn start_request(&mut self, verb: &str, length: Option<usize>, method: &str, tool: Option<Tool>) {
        let out = &mut self.request;
        out.clear();
        let _ = write!(out, "{verb} {PATH} HTTP/1.1\r\nHost: {}\r\n", self.address);
        if let Some(length) = length {
            let _ = write!(
                out,
                "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
                 Content-Length: {length}\r\n"
            );
        } else {
            let _ = write!(out, "Accept: text/event-stream\r\n");
        }
        if let Some(session) = &self.session {
            let _ = write!(out, "Mcp-Session-Id: {session}\r\n");
        }
        if method != "initialize" {
            let _ = write!(out, "MCP-Protocol-Version: {}\r\n", self.era.revision());
        }
        if self.era == Era::Modern {
            let _ = write!(out, "Mcp-Method: {method}\r\n");
            if let Some(tool) = tool {
                let _ = write!(out, "Mcp-Name: {}\r\n", tool.name());
            }
        }
        out.extend_from_slice(b"\r\n");
    }

    async fn read_more(&mut self) -> Outcome<()> {
        self.read.reserve(READ);
        if self.socket.read_buf(&mut self.read).await? == 0 {
            return Err(Fault::new("the server closed the connection"));
        }
        Ok(())
    }

    async fn read_head(&mut self) -> Outcome<(Head, usize)> {
        loop {
            if let Some(found) = Head::read(&self.read)? {
                return Ok(found);
            }
            self.read_more().await?;
        }
    }

    async fn read_response(&mut self) -> Outcome<()> {
        self.read.clear();
        self.body.clear();
        let (head, mut at) = self.read_head().await?;
        self.status = head.status;
        self.events = head.events;
        match head.body {
            Body::Bytes(length) => {
                while self.read.len() < at + length {
                    self.read_more().await?;
                }
                self.body.extend_from_slice(&self.read[at..at + length]);
                at += length;
            }
            Body::Chunked => loop {
                let Some((data, size)) = response::chunk(&self.read[at..])? else {
                    self.read_more().await?;
                    continue;
                };
                at += size;
                if data.is_empty() {
                    break;
                }
                self.body.extend_from_slice(data);
            },
            // Some responses have no body and say nothing of it.
            Body::Unknown if head.status / 100 == 2 && head.status != 200 => {}
            Body::Unknown => return Err(Fault::new("a response that does not say how long it is")),
        }
        if at != self.read.len() {
            return Err(Fault::new(format!(
                "more than one response: {}",
                shown(&self.read[at..])
            )));
        }
        if self.session.is_none() {
            self.session = head.session;
        }
        if head.close {
            self.socket = open(self.address).await?;
        }
        Ok(())
    }

    /// Hands the messages of the last response to `is_answer`; one of them must be it.
    fn expect(&self, mut is_answer: impl FnMut(&[u8]) -> Outcome<bool>) -> Outcome<()> {
        if self.status != 200 {
            return Err(Fault::new(format!("HTTP {}: {}", self.status, shown(&self.body))));
        }
        let answered = if self.events {
            response::events(&self.body, is_answer)?
        } else {
            is_answer(&self.body)?
        };
        if answered {
            Ok(())
        } else {
            Err(Fault::new(format!("no answer in the response: {}", shown(&self.body))))
        }
    }
}

async fn open(address: SocketAddr) -> Outcome<TcpStream> {
    let socket = TcpStream::connect(address).await?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::thread;

    /// Answers requests on one connection with these bodies, each in a response of its own, and then closes it.
    fn serve(responses: Vec<String>) -> SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            for response in responses {
                // A request of the test fits into one read.
                let read = socket.read(&mut [0; 4096]).unwrap();
                assert!(read > 0);
                socket.write_all(response.as_bytes()).unwrap();
            }
        });
        address
    }

    fn json(body: &str) -> String {
        format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
    }

    fn streamed(events: &str) -> String {
        let size = events.len();
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n\
             {size:x}\r\n{events}\r\n0\r\n\r\n"
        )
    }

    fn sum(id: u64) -> String {
        let sum = format!("{id}.5");
        format!(r#"{{"id":{id},"result":{{"content":[{{"text":"{sum}"}}],"structuredContent":{{"sum":{sum}}}}}}}"#)
    }

    fn answers(responses: Vec<String>) -> Result<(), String> {
        let count = responses.len() as u64;
        let address = serve(responses);
        let called = crate::http::block_on(async {
            let mut connection = Connection::new(address, Era::Modern).await?;
            for id in 1..=count {
                connection.call(id, Tool::Add).await?;
            }
            Ok(())
        });
        called.map_err(|fault| fault.text().to_owned())
    }

    #[test]
    fn an_answer_is_read_as_json_and_from_a_stream() {
        let notice = r#"{"method":"notifications/message","params":{}}"#;
        let stream = format!("id: 1\ndata:\n\ndata: {notice}\n\ndata: {}\n\n", sum(2));
        assert_eq!(answers(vec![json(&sum(1)), streamed(&stream), json(&sum(3))]), Ok(()));
    }

    #[test]
    fn a_wrong_answer_is_a_fault() {
        let notice = "data: {\"method\":\"notifications/message\",\"params\":{}}\n\n";
        for (wrong, why) in [
            (json(&sum(2)), "id 2 was answered"),
            (json(&sum(1).replace("1.5", "1.25")), "a wrong answer"),
            (
                json(r#"{"id":1,"error":{"code":-32603,"message":"no"}}"#),
                "not answered by a result",
            ),
            (streamed(notice), "no answer in the response"),
            (json(&sum(1)) + "more", "more than one response"),
            (
                "HTTP/1.1 500 No\r\ncontent-length: 2\r\n\r\nno".to_owned(),
                "HTTP 500: no",
            ),
            ("HTTP/1.1 200 OK\r\n\r\n".to_owned(), "how long it is"),
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nx".to_owned(),
                "closed the connection",
            ),
        ] {
            let told = answers(vec![wrong.clone()]).unwrap_err();
            assert!(told.contains(why), "{wrong}: {told}");
        }
    }
}
