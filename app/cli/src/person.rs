//! The person at the terminal: approves calls, fills in servers' forms. One question at a time.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::Mutex;
use trunkline_gate::client::Inputs;
use trunkline_gate::client::types::{
    ClientCapabilities, ElicitParams, ElicitResult, ElicitationCapability, ErrorObject, FormElicitation,
};
use trunkline_gate::schema::Schema;
use trunkline_gate::text::{one_line, visible_json};
use trunkline_gate::{Approver, Question, Verdict};

use crate::form::{Field, fields, yes_or_no};
use crate::output::Output;
use crate::terminal::Terminal;

/// How long a question waits for its answer.
const PATIENCE: Duration = Duration::from_secs(600);

/// How often a field is asked again.
const TRIES: usize = 5;

const NO_TERMINAL: &str = "there is no terminal to ask on; run the command in a terminal";

/// The person at the terminal.
pub(crate) struct Person {
    output: Arc<Output>,
    may_ask: bool,
    terminal: OnceLock<Option<Terminal>>,
    one_at_a_time: Mutex<()>,
}

impl Person {
    pub(crate) fn new(output: Arc<Output>, may_ask: bool) -> Self {
        Self {
            output,
            may_ask,
            terminal: OnceLock::new(),
            one_at_a_time: Mutex::new(()),
        }
    }

    /// The terminal, opened when it is first needed.
    fn terminal(&self) -> Option<&Terminal> {
        if !self.may_ask {
            return None;
        }
        self.terminal.get_or_init(Terminal::open).as_ref()
    }

    async fn verdict(&self, question: &Question) -> Verdict {
        if !self.may_ask {
            return Verdict::Unavailable("--no-input forbids to ask".to_owned());
        }
        let Some(terminal) = self.terminal() else {
            return Verdict::Unavailable(NO_TERMINAL.to_owned());
        };
        let _turn = self.one_at_a_time.lock().await;
        let _quiet = Quiet::new(&self.output);
        let asked = async {
            terminal.write(&shown(question)).ok()?;
            terminal.ask("call it? [y/N] ").await
        };
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Some(line)) if yes_or_no(&line) == Some(true) => Verdict::Allow,
            Ok(_) => Verdict::Deny,
            Err(_) => Verdict::Unavailable(format!("nobody answered within {} minutes", PATIENCE.as_secs() / 60)),
        }
    }

    /// Asks a server's form. None where nobody answers it.
    async fn fill_in(&self, server: &str, form: &FormElicitation) -> Result<ElicitResult, ErrorObject> {
        let fields = fields(&form.requested_schema).map_err(ErrorObject::invalid_params)?;
        let schema =
            Schema::compile(&form.requested_schema).map_err(|error| ErrorObject::invalid_params(error.to_string()))?;
        let Some(terminal) = self.terminal() else {
            self.output.warning(&format!(
                "server `{}` asked \"{}\"; nobody can be asked here, so it was told that nobody answers",
                one_line(server, 100),
                one_line(&form.message, 300)
            ));
            return Ok(ElicitResult::cancel());
        };
        let _turn = self.one_at_a_time.lock().await;
        let _quiet = Quiet::new(&self.output);
        let asked = ask_fields(terminal, server, &form.message, &fields, &schema);
        // A person who went away is not one who said no.
        Ok(tokio::time::timeout(PATIENCE, asked)
            .await
            .unwrap_or_else(|_| ElicitResult::cancel()))
    }
}

/// Keeps everything else off the terminal while it lasts.
struct Quiet<'a>(&'a Output);

impl<'a> Quiet<'a> {
    fn new(output: &'a Output) -> Self {
        output.asking(true);
        Self(output)
    }
}

impl Drop for Quiet<'_> {
    fn drop(&mut self) {
        self.0.asking(false);
    }
}

/// The question as it stands on the terminal. Its parts are fit to show.
fn shown(question: &Question) -> String {
    let title = question.title.as_ref();
    let title = title
        .map(|title| format!(" (it calls it \"{title}\")"))
        .unwrap_or_default();
    let mut lines = vec![
        format!("\nserver `{}` would run: {}{title}", question.server, question.tool),
        format!("  arguments: {}", question.arguments),
    ];
    if let Some(description) = &question.description {
        lines.push(format!("  described by the server as: {description}"));
    }
    if !question.claims.is_empty() {
        lines.push(format!("  the server claims: it {}", question.claims.join("; it ")));
    }
    lines.push(format!("  asked because: {}\n", question.reason));
    lines.join("\n")
}

impl Approver for Person {
    fn approve<'a>(&'a self, question: &'a Question) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(self.verdict(question))
    }
}

async fn ask_fields(
    terminal: &Terminal,
    server: &str,
    message: &str,
    fields: &[Field],
    schema: &Schema,
) -> ElicitResult {
    let header = format!(
        "\nserver `{}` asks: {}\n  (to say no: !   to leave it unanswered: Ctrl-D)\n",
        one_line(server, 100),
        one_line(message, 2000)
    );
    if terminal.write(&header).is_err() {
        return ElicitResult::cancel();
    }
    let mut answers = Map::new();
    for field in fields {
        match ask_field(terminal, field).await {
            Typed::Value(Some(value)) => {
                answers.insert(field.name.clone(), value);
            }
            Typed::Value(None) => {}
            Typed::No => return ElicitResult::decline(),
            Typed::Gone => return ElicitResult::cancel(),
        }
    }
    let answers = Value::Object(answers);
    if let Err(mismatch) = schema.check(&answers) {
        let why = one_line(&mismatch.to_string(), 500);
        let _ = terminal.write(&format!(
            "  these answers do not fit the form, so nothing was sent: {why}\n"
        ));
        return ElicitResult::cancel();
    }
    // One field was just read by the person; of several they see the whole, exactly as it is sent.
    if fields.len() != 1 {
        let shown = visible_json(&answers);
        match terminal
            .ask(&format!("  send {shown}? [y/N] "))
            .await
            .as_deref()
            .map(yes_or_no)
        {
            Some(Some(true)) => {}
            Some(_) => return ElicitResult::decline(),
            None => return ElicitResult::cancel(),
        }
    }
    match answers {
        Value::Object(answers) => ElicitResult::accept(answers),
        _ => ElicitResult::cancel(),
    }
}

/// What was typed for a field.
enum Typed {
    Value(Option<Value>),
    No,
    Gone,
}

async fn ask_field(terminal: &Terminal, field: &Field) -> Typed {
    for _ in 0..TRIES {
        let Some(line) = terminal.ask(&field.prompt()).await else {
            return Typed::Gone;
        };
        if line == "!" {
            return Typed::No;
        }
        match field.parse(&line) {
            Ok(value) => return Typed::Value(value),
            Err(why) => {
                let _ = terminal.write(&format!("  {why}\n"));
            }
        }
    }
    Typed::Gone
}

/// Answers what one server asks for: forms, nothing else.
pub(crate) struct ServerQuestions {
    server: String,
    person: Arc<Person>,
}

impl ServerQuestions {
    pub(crate) fn new(server: &str, person: &Arc<Person>) -> Self {
        Self {
            server: server.to_owned(),
            person: Arc::clone(person),
        }
    }
}

impl Inputs for ServerQuestions {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities {
            elicitation: Some(ElicitationCapability::default()),
            ..ClientCapabilities::default()
        }
    }

    async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, ErrorObject> {
        match params {
            ElicitParams::Form(form) => self.person.fill_in(&self.server, &form).await,
            _ => Err(ErrorObject::invalid_params("only forms can be answered here")),
        }
    }
}
