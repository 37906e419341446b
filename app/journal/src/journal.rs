//! Writing: one journal, many connections, one line per entry.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::SystemTime;

use serde::Serialize;
use serde_json::Value;
use trunkline_transport::{Direction, Tap};

use crate::key_lines::KeyLines;
use crate::line::{BEGINNING, FORMAT, GENESIS, MAX_BODY, Quoted, chain, seal, sha256};
use crate::mask::Mask;
use crate::secrets::{ends_with_stand_in, stand_in};
use crate::time::Stamp;

/// A journal in memory holds at most this many bytes; entries beyond it are counted as lost.
pub const MAX_MEMORY: usize = 256 << 20;

/// Kinds with a form of their own, which [`Journal::record`] does not write.
const OWN_KINDS: &[&str] = &["header", "message", "stderr", "noise", "gap", "end"];

/// What was called, and what was decided about it, is not masked as a known value: a setting such as `MODE=weather`
/// would take the name of the tool out of the record.
const KEPT_KINDS: &[&str] = &["decision", "outcome", "server"];
const KEPT: &[&str] = &[
    "server",
    "tool",
    "definition",
    "digest",
    "effect",
    "by",
    "kind",
    "id",
    "state",
    "trust",
];

/// A recording in the making. Clones write into the same recording.
///
/// Each entry is one write, so what was recorded outlives the process that recorded it. A write that fails never fails
/// the call that was recorded: it is counted, [`Journal::failure`] tells it once, and the next line that can be written
/// is preceded by a `gap` line with the count.
///
/// The `end` line is written by [`Journal::close`], or when the last clone and the last tap are dropped.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("run.jsonl");
/// let journal = trunkline_journal::Journal::create(&file)?;
/// journal.record("note", &serde_json::json!({ "text": "started" }));
/// journal.close();
/// assert_eq!(std::fs::read_to_string(&file)?.lines().count(), 3);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Journal {
    inner: Arc<Inner>,
}

/// What went wrong with writing, told once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteFailure {
    /// How many entries have been lost so far.
    pub lost: u64,
    /// What the first failed write said.
    pub first: String,
}

impl fmt::Display for WriteFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the journal could not be written ({}); entries lost so far: {}",
            self.first, self.lost
        )
    }
}

type Clock = Box<dyn Fn() -> SystemTime + Send + Sync>;

struct Inner {
    clock: Clock,
    settings: RwLock<Settings>,
    memory: Option<Memory>,
    keys: KeyLines,
    writer: Mutex<Writer>,
}

#[derive(Default)]
struct Settings {
    mask: Arc<Mask>,
    /// For each connection the member of its lines that tells the revision.
    revisions: BTreeMap<String, Arc<str>>,
}

impl fmt::Debug for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let writer = lock(&self.inner.writer);
        f.debug_struct("Journal")
            .field("lines", &writer.seq)
            .field("lost", &writer.lost)
            .finish_non_exhaustive()
    }
}

impl Journal {
    /// Starts a recording in a new file that only its owner may read (mode 0600 where there are modes).
    ///
    /// # Errors
    ///
    /// When the file cannot be made. One that exists already is never written over.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        Ok(Self::to_writer(Box::new(options.open(path)?)))
    }

    /// Starts a recording in `writer`, which gets one whole line per write.
    pub fn to_writer(writer: Box<dyn Write + Send>) -> Self {
        Self::with_clock(writer, SystemTime::now)
    }

    /// Starts a recording in `writer` with times from `clock`.
    pub fn with_clock(writer: Box<dyn Write + Send>, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        Self::start(writer, Box::new(clock), None)
    }

    /// Starts a recording in memory, at most [`MAX_MEMORY`] bytes of it.
    pub fn memory() -> Self {
        let memory = Memory::default();
        Self::start(Box::new(memory.clone()), Box::new(SystemTime::now), Some(memory))
    }

    fn start(out: Box<dyn Write + Send>, clock: Clock, memory: Option<Memory>) -> Self {
        let writer = Mutex::new(Writer::new(out));
        let inner = Inner {
            clock,
            settings: RwLock::default(),
            memory,
            keys: KeyLines::default(),
            writer,
        };
        let version = Quoted(env!("CARGO_PKG_VERSION"));
        inner.write(
            "header",
            format_args!(",\"format\":{FORMAT},\"tool\":\"trunkline\",\"tool_version\":{version}"),
        );
        Self { inner: Arc::new(inner) }
    }

    /// What a recording in memory holds so far; empty for any other.
    pub fn contents(&self) -> Vec<u8> {
        self.inner
            .memory
            .as_ref()
            .map(|memory| lock(&memory.0).clone())
            .unwrap_or_default()
    }

    /// The tap that records the connection with this name: its messages and its standard error.
    pub fn tap(&self, connection: &str) -> Arc<dyn Tap> {
        Arc::new(ConnectionTap {
            inner: Arc::clone(&self.inner),
            connection: connection.to_owned(),
            name: Quoted(connection).to_string(),
        })
    }

    /// Says which revision a connection speaks; its messages carry it from now on.
    pub fn set_revision(&self, connection: &str, revision: &str) {
        let mut settings = self.inner.settings.write().unwrap_or_else(PoisonError::into_inner);
        let member = format!(",\"revision\":{}", Quoted(revision));
        settings.revisions.insert(connection.to_owned(), member.into());
    }

    /// Adds a value that is masked wherever it stands, from the next entry on; see [`Mask::add`].
    pub fn add_secret(&self, secret: &str) {
        let mut settings = self.inner.settings.write().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut settings.mask).add(secret);
    }

    /// Records a line that a server wrote between messages and that is none.
    pub fn noise(&self, connection: &str, line: &[u8]) {
        self.inner.text_line("noise", &Quoted(connection).to_string(), line);
    }

    /// Records `body` under `kind`: `decision`, `note`, or another word of at most 32 lower-case letters and
    /// underscores. Any other kind, and the kinds with a form of their own, become `note`. A body that JSON cannot
    /// express becomes the reason for that.
    pub fn record(&self, kind: &str, body: &(impl Serialize + ?Sized)) {
        let word = |c: u8| c.is_ascii_lowercase() || c == b'_';
        let fits = (1..=32).contains(&kind.len()) && kind.bytes().all(word) && !OWN_KINDS.contains(&kind);
        let text = serde_json::to_string(body).unwrap_or_else(|error| Value::from(error.to_string()).to_string());
        let mask = self.inner.mask();
        let masked = if text.len() <= MAX_BODY {
            mask.json_sparing(&text, if KEPT_KINDS.contains(&kind) { KEPT } else { &[] })
        } else {
            None
        };
        let kind = if fits { kind } else { "note" };
        if let Some((json, count)) = masked {
            let count = Masked(count);
            self.inner.write(kind, format_args!(",\"body\":{json}{count}"));
        } else {
            let text = Text::of(&mask, text.as_bytes());
            let count = Masked(text.masked);
            self.inner.write(kind, format_args!(",\"body\":{{{text}}}{count}"));
        }
    }

    /// Hands everything to the system, where the writer holds something back.
    pub fn flush(&self) {
        lock(&self.inner.writer).flush();
    }

    /// Writes the `end` line. What is recorded after it is lost, and counted so.
    pub fn close(&self) {
        self.inner.close();
    }

    /// The trouble with writing, if there is any that was not told yet.
    pub fn failure(&self) -> Option<WriteFailure> {
        let mut writer = lock(&self.inner.writer);
        let first = writer.first_failure.take()?;
        Some(WriteFailure {
            lost: writer.lost,
            first,
        })
    }

    /// How many entries could not be written.
    pub fn lost(&self) -> u64 {
        lock(&self.inner.writer).lost
    }
}

struct ConnectionTap {
    inner: Arc<Inner>,
    connection: String,
    /// The connection as a JSON string.
    name: String,
}

impl Tap for ConnectionTap {
    fn message(&self, direction: Direction, message: &[u8]) {
        let name = &self.name;
        let (mask, revision) = {
            let settings = self.inner.settings.read().unwrap_or_else(PoisonError::into_inner);
            let revision = settings.revisions.get(&self.connection).map(Arc::clone);
            (Arc::clone(&settings.mask), revision)
        };
        let revision = revision.as_deref().unwrap_or_default();
        let way = match direction {
            Direction::Sent => "sent",
            Direction::Received => "received",
        };
        let json = if message.len() <= MAX_BODY {
            mask.json(message)
        } else {
            None
        };
        let head = format_args!(",\"connection\":{name}{revision},\"direction\":\"{way}\"");
        if let Some((json, count)) = json {
            let count = Masked(count);
            self.inner
                .write("message", format_args!("{head},\"message\":{json}{count}"));
        } else {
            let text = Text::of(&mask, message);
            let count = Masked(text.masked);
            self.inner.write("message", format_args!("{head},{text}{count}"));
        }
    }

    fn stderr(&self, line: &[u8]) {
        self.inner.text_line("stderr", &self.name, line);
    }
}

/// What stands in a line for something that is not JSON, or too long: text without secrets, and how much it was.
struct Text<'a> {
    shown: Cow<'a, str>,
    bytes: usize,
    /// Of the whole, where only its beginning is kept.
    sha256: Option<String>,
    /// How many secrets were taken out.
    masked: u64,
}

impl<'a> Text<'a> {
    fn of(mask: &Mask, bytes: &'a [u8]) -> Self {
        if bytes.len() <= MAX_BODY {
            let text = String::from_utf8_lossy(bytes);
            let (shown, masked) = match mask.text(&text) {
                (Cow::Borrowed(_), masked) => (text, masked),
                (Cow::Owned(without), masked) => (without.into(), masked),
            };
            return Self {
                shown,
                bytes: bytes.len(),
                sha256: None,
                masked,
            };
        }
        // A secret that the cut goes through would not be recognised: mask more than is kept, then drop the surplus.
        let beginning = String::from_utf8_lossy(&bytes[..2 * BEGINNING]);
        let (shown, masked) = mask.text(&beginning);
        let mut shown = shown.into_owned();
        // One that goes on behind it is masked to its end, and is no surplus.
        let mut end = if ends_with_stand_in(&shown) {
            shown.len().min(BEGINNING)
        } else {
            shown.len().saturating_sub(BEGINNING)
        };
        while !shown.is_char_boundary(end) {
            end -= 1;
        }
        shown.truncate(end);
        Self {
            shown: shown.into(),
            bytes: bytes.len(),
            sha256: Some(sha256(bytes)),
            masked,
        }
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"text\":{},\"bytes\":{}", Quoted(&self.shown), self.bytes)?;
        match &self.sha256 {
            Some(sha256) => write!(f, ",\"sha256\":\"{sha256}\""),
            None => Ok(()),
        }
    }
}

/// How many secrets were taken out, as a line says it: not at all where there was none.
struct Masked(u64);

impl fmt::Display for Masked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => Ok(()),
            count => write!(f, ",\"masked\":{count}"),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere does not make the recording less true.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    fn mask(&self) -> Arc<Mask> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner).mask)
    }

    fn text_line(&self, kind: &str, name: &str, line: &[u8]) {
        let text = if self.keys.go_on(&format!("{kind} {name}"), line) {
            Text {
                shown: stand_in(String::from_utf8_lossy(line).chars().count()).into(),
                bytes: line.len(),
                sha256: None,
                masked: 1,
            }
        } else {
            Text::of(&self.mask(), line)
        };
        let count = Masked(text.masked);
        self.write(kind, format_args!(",\"connection\":{name},{text}{count}"));
    }

    /// Writes one entry; `rest` is what follows `kind`.
    fn write(&self, kind: &str, rest: fmt::Arguments<'_>) {
        // The clock is read under the lock, so that lines and their times have one order.
        let mut writer = lock(&self.writer);
        writer.entry((self.clock)(), kind, rest);
    }

    fn close(&self) {
        let mut writer = lock(&self.writer);
        if !writer.closed {
            let lost = writer.lost;
            writer.entry((self.clock)(), "end", format_args!(",\"lost\":{lost}"));
            writer.closed = true;
        }
        writer.flush();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

struct Writer {
    out: Box<dyn Write + Send>,
    /// One buffer for all lines.
    line: String,
    stamp: Stamp,
    seq: u64,
    previous: String,
    lost: u64,
    /// Lost since the last line that was written.
    gap: u64,
    first_failure: Option<String>,
    failed: bool,
    /// Whether a write ended inside a line.
    torn: bool,
    closed: bool,
}

impl Writer {
    fn new(out: Box<dyn Write + Send>) -> Self {
        Self {
            out,
            line: String::new(),
            stamp: Stamp::default(),
            seq: 0,
            previous: GENESIS.to_owned(),
            lost: 0,
            gap: 0,
            first_failure: None,
            failed: false,
            torn: false,
            closed: false,
        }
    }

    fn entry(&mut self, time: SystemTime, kind: &str, rest: fmt::Arguments<'_>) {
        self.stamp.set(time);
        let written = if self.closed {
            Err(io::Error::new(ErrorKind::BrokenPipe, "the journal is closed"))
        } else {
            self.gap_line().and_then(|()| self.chained(kind, rest))
        };
        if let Err(error) = written {
            self.lost += 1;
            self.gap += 1;
            self.note_failure(&error);
        }
    }

    fn note_failure(&mut self, error: &io::Error) {
        if !self.failed {
            self.failed = true;
            self.first_failure = Some(error.to_string());
        }
    }

    fn gap_line(&mut self) -> io::Result<()> {
        if self.gap > 0 {
            let gap = self.gap;
            self.chained("gap", format_args!(",\"lost\":{gap}"))?;
            self.gap = 0;
        }
        Ok(())
    }

    fn chained(&mut self, kind: &str, rest: fmt::Arguments<'_>) -> io::Result<()> {
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        let _ = write!(
            line,
            "{{\"seq\":{},\"time\":\"{}\",\"kind\":\"{kind}\"{rest}",
            self.seq,
            self.stamp.text()
        );
        let hash = chain(&self.previous, line.as_bytes());
        seal(&mut line, &hash);
        let written = self.put(line.as_bytes());
        // A rare huge line does not keep its memory for good.
        line.shrink_to(64 << 10);
        self.line = line;
        written?;
        self.seq += 1;
        self.previous = hash;
        Ok(())
    }

    /// Writes a whole line. A line that broke off earlier is ended first, so that it spoils only itself.
    fn put(&mut self, line: &[u8]) -> io::Result<()> {
        if self.torn {
            self.put_all(b"\n")?;
            self.torn = false;
        }
        self.put_all(line)
    }

    fn put_all(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let whole = bytes.len();
        while !bytes.is_empty() {
            match self.out.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => {
                    bytes = bytes.get(count..).unwrap_or_default();
                    self.torn = !bytes.is_empty();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.torn = self.torn || bytes.len() < whole;
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) {
        if let Err(error) = self.out.flush() {
            self.note_failure(&error);
        }
    }
}

/// Bytes in memory, shared by the writer and [`Journal::contents`].
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut held = lock(&self.0);
        if held.len() + bytes.len() > MAX_MEMORY {
            return Err(io::Error::new(ErrorKind::StorageFull, "the journal in memory is full"));
        }
        held.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
