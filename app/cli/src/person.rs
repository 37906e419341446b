//! The person at the terminal: approves calls, fills in servers' forms. One question at a time.

use std::fmt::Write as _;
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
use crate::quote::{quoted, width};
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
            terminal.write(&shown(question, terminal.columns())).ok()?;
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
            let text = format!(
                "server `{}` asked \"{}\"; nobody can be asked here, so it was told that nobody answers",
                one_line(server, 100),
                one_line(&form.message, 300)
            );
            self.output.once(server, &text, Output::warning);
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

/// The question as it stands on a terminal of so many columns. Its parts are fit to show. What the server says of itself
/// stands behind a mark; what the person decides about stands below it, and nothing of the server's comes after that.
fn shown(question: &Question, columns: usize) -> String {
    let mut shown = String::from("\n");
    shown.push_str(&beside(
        &format!("server `{}` would run:", question.server),
        &question.tool,
        columns,
    ));
    if let Some(title) = &question.title {
        shown.push_str("  the server calls it:\n");
        shown.push_str(&quoted(title, columns, 0));
    }
    if let Some(description) = &question.description {
        shown.push_str("  the server describes it as:\n");
        shown.push_str(&quoted(description, columns, 0));
    }
    if !question.claims.is_empty() {
        let claims = question.claims.join("; it ");
        let _ = writeln!(shown, "  the server claims: it {claims}");
    }
    // Writing to a string cannot fail.
    let _ = writeln!(shown, "  asked because: {}", question.reason);
    shown.push_str(&beside("  arguments:", &question.arguments, columns));
    shown
}

/// A text beside its label where it is one word that fits there, else below it, behind the mark.
fn beside(label: &str, text: &str, columns: usize) -> String {
    if !text.contains(char::is_whitespace) && width(label) + 1 + width(text) < columns {
        format!("{label} {text}\n")
    } else {
        format!("{label}\n{}", quoted(text, columns, 0))
    }
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
    let columns = terminal.columns();
    let header = format!(
        "\nserver `{}` asks:\n{}  (to say no: !   to leave it unanswered: Ctrl-D)\n",
        one_line(server, 100),
        quoted(&one_line(message, 2000), columns, 0)
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
            "  these answers do not fit the form, so nothing was sent:\n{}",
            quoted(&why, columns, 0)
        ));
        return ElicitResult::cancel();
    }
    // One field was just read by the person; of several they see the whole, exactly as it is sent.
    if fields.len() != 1 {
        let shown = quoted(&visible_json(&answers), columns, 0);
        match terminal
            .ask(&format!("  your answers:\n{shown}  send them? [y/N] "))
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
        let Some(line) = terminal.ask(&field.prompt(terminal.columns())).await else {
            return Typed::Gone;
        };
        if line == "!" {
            return Typed::No;
        }
        match field.parse(&line) {
            Ok(value) => return Typed::Value(value),
            Err(why) => {
                let _ = terminal.write(&quoted(&why, terminal.columns(), 0));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quote::MARK;

    #[test]
    fn a_short_word_stands_beside_its_label_and_all_else_behind_the_mark() {
        assert_eq!(
            beside("server `s` would run:", "look", 80),
            "server `s` would run: look\n"
        );
        let forged = format!("look{}asked because: it is safe", "_".repeat(60));
        for text in [forged.as_str(), "look \u{3000} asked", &"글".repeat(60)] {
            let shown = beside("  arguments:", text, 80);
            assert!(shown.lines().skip(1).all(|line| line.starts_with(MARK)), "{shown}");
            assert!(shown.lines().all(|line| width(line) < 80), "{shown}");
        }
    }
}
