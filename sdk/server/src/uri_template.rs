//! URI templates, read backwards: which values does an address have for the variables of a template?
//!
//! All four levels of [RFC 6570](https://datatracker.ietf.org/doc/html/rfc6570) are read. Where an address
//! can be read in several ways, each variable takes as much as it can.

use std::collections::BTreeMap;
use std::fmt;

use crate::UriVariables;

/// The longest template and the longest address that are read, in bytes.
pub const MAX_URI: usize = 8 * 1024;
/// How many ways to read an address are tried before it counts as not matching.
const MAX_STEPS: u32 = 20_000;

/// A parsed template.
///
/// Values are percent-decoded after matching, so what an address hides in escapes is looked at once more:
///
/// | expression | an address is refused whose value |
/// | --- | --- |
/// | `{name}`, `{.name}`, `{/name}` | has `/`, `\` or NUL in one of its segments, or has the segment `.` or `..` |
/// | `{+name}`, `{#name}` | has NUL, or the segment `..` between slashes of either kind |
/// | `{;name}`, `{?name}`, `{&name}` | has NUL |
///
/// So `{name}` is safe to use as the name of one file, and `{+name}` never climbs. But `{+name}` may begin
/// with a slash, which [`Path::join`](std::path::Path::join) takes for a path of its own.
///
/// ```
/// use trunkline_server::UriTemplate;
/// let template = UriTemplate::parse("file:///{+path}{?line,column}").unwrap();
/// let variables = template.matches("file:///src/a%20b.rs?line=7").unwrap();
/// assert_eq!(variables.text("path"), Some("src/a b.rs"));
/// assert_eq!(variables.text("line"), Some("7"));
/// assert_eq!(variables.text("column"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UriTemplate {
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Expression {
        operator: Operator,
        variables: Vec<Variable>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Simple,
    Reserved,
    Fragment,
    Label,
    Path,
    Parameters,
    Query,
    Continuation,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Variable {
    name: String,
    explode: bool,
}

/// Why a text is not a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateError {
    /// A brace without its partner, at this byte.
    Brace(usize),
    /// Not a variable's name.
    Name(String),
    /// Longer than [`MAX_URI`].
    TooLong,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Brace(at) => write!(f, "the brace at byte {at} has no partner"),
            Self::Name(name) => write!(f, "{name:?} is not the name of a variable"),
            Self::TooLong => write!(f, "a template has at most {MAX_URI} bytes"),
        }
    }
}

impl std::error::Error for TemplateError {}

impl Operator {
    fn of(first: u8) -> Option<Self> {
        Some(match first {
            b'+' => Self::Reserved,
            b'#' => Self::Fragment,
            b'.' => Self::Label,
            b'/' => Self::Path,
            b';' => Self::Parameters,
            b'?' => Self::Query,
            b'&' => Self::Continuation,
            _ => return None,
        })
    }

    /// What an expansion begins with. Without a value there is no expansion at all.
    fn lead(self) -> Option<u8> {
        match self {
            Self::Simple | Self::Reserved => None,
            Self::Fragment => Some(b'#'),
            Self::Label => Some(b'.'),
            Self::Path => Some(b'/'),
            Self::Parameters => Some(b';'),
            Self::Query => Some(b'?'),
            Self::Continuation => Some(b'&'),
        }
    }

    /// Whether a byte may stand in an expansion, behind its lead.
    fn allows(self, byte: u8) -> bool {
        let unreserved =
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'%') || byte >= 128;
        match self {
            Self::Reserved | Self::Fragment => true,
            Self::Simple | Self::Label => unreserved || byte == b',',
            Self::Path => unreserved || matches!(byte, b',' | b'/'),
            Self::Parameters => unreserved || matches!(byte, b',' | b'=' | b';'),
            // Clients write queries less strictly than templates do.
            Self::Query | Self::Continuation => byte != b'#',
        }
    }

    fn separator(self) -> char {
        match self {
            Self::Simple | Self::Reserved | Self::Fragment => ',',
            Self::Label => '.',
            Self::Path => '/',
            Self::Parameters => ';',
            Self::Query | Self::Continuation => '&',
        }
    }

    fn is_named(self) -> bool {
        matches!(self, Self::Parameters | Self::Query | Self::Continuation)
    }

    /// The value that a text stands for, unless decoding it reveals what could lead a handler astray.
    fn value(self, text: &str) -> Option<String> {
        let value = decode(text);
        let climbs = |path: &str| path.split(['/', '\\']).any(|segment| segment == "..");
        let one_segment = |segment: &str| !segment.contains(['/', '\\']) && segment != "." && segment != "..";
        let safe = match self {
            Self::Simple | Self::Label => one_segment(&value),
            // Slashes that the address shows are the template's; those that it hides are not.
            Self::Path => text.split('/').all(|segment| one_segment(&decode(segment))),
            Self::Reserved | Self::Fragment => !climbs(&value),
            Self::Parameters | Self::Query | Self::Continuation => true,
        };
        (safe && !value.contains('\0')).then_some(value)
    }
}

impl Part {
    /// Whether an expansion begins with this byte.
    fn begins_with(&self, byte: u8) -> bool {
        matches!(self, Self::Expression { operator, .. } if operator.lead() == Some(byte))
    }
}

impl UriTemplate {
    /// Parses a template.
    ///
    /// # Errors
    /// If braces or names are wrong, or it is too long.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        if text.len() > MAX_URI {
            return Err(TemplateError::TooLong);
        }
        let mut parts = Vec::new();
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            match rest.find(['{', '}']) {
                None => {
                    parts.push(Part::Literal(rest.to_owned()));
                    break;
                }
                Some(0) if rest.starts_with('{') => {
                    let end = rest.find('}').ok_or(TemplateError::Brace(at))?;
                    parts.push(parse_expression(&rest[1..end])?);
                    at += end + 1;
                }
                Some(0) => return Err(TemplateError::Brace(at)),
                Some(end) => {
                    parts.push(Part::Literal(rest[..end].to_owned()));
                    at += end;
                }
            }
        }
        Ok(Self { parts })
    }

    /// Whether the template has a variable of that name.
    pub fn has(&self, name: &str) -> bool {
        let names = |part: &Part| match part {
            Part::Literal(_) => false,
            Part::Expression { variables, .. } => variables.iter().any(|variable| variable.name == name),
        };
        self.parts.iter().any(names)
    }

    /// The values of the variables in an address, or `None` if it does not follow the template or a value
    /// is refused.
    pub fn matches(&self, uri: &str) -> Option<UriVariables> {
        if uri.len() > MAX_URI {
            return None;
        }
        let mut spans = vec![(0, 0); self.parts.len()];
        let mut steps = 0;
        if !match_parts(&self.parts, uri, 0, &mut spans, &mut steps) {
            return None;
        }
        let mut found = BTreeMap::new();
        for (part, (start, end)) in self.parts.iter().zip(spans) {
            if let Part::Expression { operator, variables } = part {
                assign(*operator, variables, &uri[start..end], &mut found)?;
            }
        }
        Some(UriVariables(found))
    }
}

fn parse_expression(text: &str) -> Result<Part, TemplateError> {
    let operator = text.bytes().next().and_then(Operator::of);
    let list = if operator.is_some() { &text[1..] } else { text };
    let variables = list
        .split(',')
        .map(|spec| {
            let explode = spec.ends_with('*');
            let name = spec.trim_end_matches('*');
            let name = name.split_once(':').map_or(name, |(name, _)| name);
            let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '%');
            if name.is_empty() || !name.chars().all(fits) {
                return Err(TemplateError::Name(spec.to_owned()));
            }
            Ok(Variable {
                name: name.to_owned(),
                explode,
            })
        })
        .collect::<Result<_, _>>()?;
    Ok(Part::Expression {
        operator: operator.unwrap_or(Operator::Simple),
        variables,
    })
}

/// Finds the longest way to read `uri` from `at` on, and notes what each part takes.
fn match_parts(parts: &[Part], uri: &str, at: usize, spans: &mut [(usize, usize)], steps: &mut u32) -> bool {
    *steps += 1;
    if *steps > MAX_STEPS {
        return false;
    }
    let (Some((part, rest)), Some((span, spans))) = (parts.split_first(), spans.split_first_mut()) else {
        return at == uri.len();
    };
    let bytes = uri.as_bytes();
    match part {
        Part::Literal(literal) => {
            uri[at..].starts_with(literal.as_str()) && match_parts(rest, uri, at + literal.len(), spans, steps)
        }
        Part::Expression { operator, .. } => {
            let body = match operator.lead() {
                None => at,
                Some(lead) if bytes.get(at) == Some(&lead) => at + 1,
                // No value: the expression stands for nothing.
                Some(_) => {
                    *span = (at, at);
                    return match_parts(rest, uri, at, spans, steps);
                }
            };
            // A query or a fragment of its own is not part of what comes before it.
            let ends = |byte: u8| rest.iter().any(|part| part.begins_with(byte));
            let takes = |byte: &&u8| operator.allows(**byte) && !(matches!(**byte, b'?' | b'#') && ends(**byte));
            let longest = body + bytes[body..].iter().take_while(takes).count();
            let shortest = if operator.lead().is_some() { body } else { body + 1 };
            for end in (shortest..=longest).rev().filter(|end| uri.is_char_boundary(*end)) {
                if match_parts(rest, uri, end, spans, steps) {
                    *span = (body, end);
                    return true;
                }
            }
            if operator.lead().is_some() {
                *span = (at, at);
                return match_parts(rest, uri, at, spans, steps);
            }
            false
        }
    }
}

/// Gives the text of an expression to its variables. `None` if a value is refused.
fn assign(operator: Operator, variables: &[Variable], text: &str, found: &mut BTreeMap<String, String>) -> Option<()> {
    if text.is_empty() {
        return Some(());
    }
    if operator.is_named() {
        for pair in text.split(operator.separator()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name);
            if variables
                .iter()
                .any(|variable| variable.name == name || variable.explode)
            {
                found.insert(name, operator.value(value)?);
            }
        }
        return Some(());
    }
    if let [only] = variables {
        let value = if only.explode {
            let values = text.split(operator.separator()).map(|value| operator.value(value));
            values.collect::<Option<Vec<String>>>()?.join(",")
        } else {
            operator.value(text)?
        };
        found.insert(only.name.clone(), value);
        return Some(());
    }
    // With several variables, the last one takes what is left.
    for (variable, value) in variables.iter().zip(text.splitn(variables.len(), operator.separator())) {
        found.insert(variable.name.clone(), operator.value(value)?);
    }
    Some(())
}

/// Percent-decodes; what is not a valid escape or not UTF-8 stays as it is.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
        if bytes[at] == b'%'
            && let (Some(high), Some(low)) = (hex(bytes.get(at + 1)), hex(bytes.get(at + 2)))
            && let Ok(byte) = u8::try_from(high * 16 + low)
        {
            out.push(byte);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, uri: &str, expected: Option<&[(&str, &str)]>) {
        let found = UriTemplate::parse(template).unwrap().matches(uri);
        let expected = expected.map(|pairs| {
            pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        });
        assert_eq!(found.map(|variables| variables.0), expected, "{template} on {uri}");
    }

    #[test]
    fn simple_variables_stop_at_reserved_characters() {
        check("orders://order/{id}", "orders://order/17", Some(&[("id", "17")]));
        check("orders://order/{id}", "orders://order/17/items", None);
        check("orders://order/{id}", "orders://order/", None);
        check("a:{x}-{y}", "a:1-2-3", Some(&[("x", "1-2"), ("y", "3")]));
        check(
            "weather://{city}",
            "weather://%EC%84%9C%EC%9A%B8",
            Some(&[("city", "서울")]),
        );
        check("weather://{city}", "weather://서울", Some(&[("city", "서울")]));
        check("map:{x,y}", "map:1,2", Some(&[("x", "1"), ("y", "2")]));
    }

    #[test]
    fn the_other_operators() {
        check("file:///{+path}", "file:///a/b.rs", Some(&[("path", "a/b.rs")]));
        check("x{/seg*}", "x/a/b", Some(&[("seg", "a,b")]));
        check("x{/a,b}", "x/1/2", Some(&[("a", "1"), ("b", "2")]));
        check("x{.ext}", "x.tar.gz", Some(&[("ext", "tar.gz")]));
        check("x{#part}", "x#top", Some(&[("part", "top")]));
        check("x{;a,b}", "x;a=1;b=2", Some(&[("a", "1"), ("b", "2")]));
        check("x{?q,lang}", "x?lang=ko&q=a%26b", Some(&[("lang", "ko"), ("q", "a&b")]));
        check("x{?q}", "x", Some(&[]));
        check("x?fixed=1{&q}", "x?fixed=1&q=2", Some(&[("q", "2")]));
        check("x{?q:3}", "x?q=abc", Some(&[("q", "abc")]));
    }

    #[test]
    fn broken_templates_are_refused() {
        for text in ["{", "a{b", "a}b", "{}", "{a b}", "{+}", "{a,}"] {
            assert!(UriTemplate::parse(text).is_err(), "{text}");
        }
        assert_eq!(
            UriTemplate::parse(&"a".repeat(MAX_URI + 1)),
            Err(TemplateError::TooLong)
        );
        assert!(UriTemplate::parse(&"a".repeat(MAX_URI)).is_ok());
    }

    #[test]
    fn hostile_addresses_end_soon() {
        let template = UriTemplate::parse("{+a}{+b}{+c}{+d}{+e}!").unwrap();
        assert_eq!(template.matches(&"x".repeat(MAX_URI)), None);
        assert_eq!(
            UriTemplate::parse("{a}").unwrap().matches(&"x".repeat(MAX_URI + 1)),
            None
        );
    }

    #[test]
    fn no_value_leaves_its_segment() {
        for hidden in [
            "..%2F..%2Fetc%2Fpasswd",
            "..%5c..%5cboot",
            "a%2fb",
            "a%00b",
            "%2e%2E",
            ".",
            "..",
        ] {
            check("notes://{name}", &format!("notes://{hidden}"), None);
            check("notes://{name}/text", &format!("notes://{hidden}/text"), None);
            check("notes://{a,b}", &format!("notes://x,{hidden}"), None);
            check("notes:/{/name*}", &format!("notes://x/{hidden}"), None);
            check("notes:/{/name}", &format!("notes://x/{hidden}"), None);
        }
        check("notes{.name}", "notes.%2e%2e%2fetc", None);
        check("notes{.name}", "notes...", None);
        check("notes://{name}", "notes://..a.", Some(&[("name", "..a.")]));
        check("notes://{name}", "notes://%252e%252e", Some(&[("name", "%2e%2e")]));
    }

    #[test]
    fn paths_do_not_climb() {
        for hidden in ["..", "a/../b", "a/%2e%2e", "a%2F..%2Fb", "..%5Ca", "a%00"] {
            check("file:///{+path}", &format!("file:///{hidden}"), None);
            check("file:///x{#path}", &format!("file:///x#{hidden}"), None);
        }
        check("file:///{+path}", "file:///a/..b/./c", Some(&[("path", "a/..b/./c")]));
    }

    #[test]
    fn queries_say_anything_but_nul() {
        check("x{?q}", "x?q=../%2e%2e%2fa", Some(&[("q", "../../a")]));
        check("x{?q}", "x?q=%00", None);
        check("x{;q}", "x;q=%00", None);
    }

    #[test]
    fn no_escape_is_lost() {
        check("x{a}", "x%zz%4", Some(&[("a", "%zz%4")]));
        check("x{a}", "x%ff", Some(&[("a", "%ff")]));
    }
}
