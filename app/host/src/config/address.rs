//! A server at an address: `url`, `headers`, and the transport that it speaks.

use serde_json::{Map, Value};
use trunkline_gate::client::{Remote, RemoteKind};

use super::entry::{Launch, Reader, is_there, sort};
use super::expand::expand;

/// Longest address, in bytes.
pub const MAX_URL: usize = 8 << 10;

/// Most headers of one server.
pub const MAX_HEADERS: usize = 64;

/// Most bytes of names and values of one server's headers together.
pub const MAX_HEADER_BYTES: usize = 16 << 10;

/// A part of a path with so many bytes, letters and digits among them, is taken for a key.
const KEY_LENGTH: usize = 20;

/// Keys that only say something about a program.
const OF_PROGRAMS: [&str; 4] = ["args", "env", "envFile", "cwd"];

/// Keys by which other programs get at what a server wants to see. None is needed where a header holds it.
const OTHER_WAYS: [&str; 3] = ["headersHelper", "oauth", "auth"];

impl Reader<'_> {
    /// Reads a server at an address, which stands under `key`.
    pub(super) fn address(
        &mut self,
        at: &str,
        object: &Map<String, Value>,
        key: &str,
        kind: RemoteKind,
    ) -> Result<Launch, String> {
        let url = self.url(&format!("{at}.{key}"), &object[key])?;
        let headers = self.headers(&format!("{at}.headers"), object.get("headers"))?;
        let remote = Remote::new(url).kind(kind).headers(headers);
        remote.check().map_err(|error| format!("{at}: {error}"))?;
        for key in OF_PROGRAMS.into_iter().filter(|key| is_there(object, key)) {
            self.notes.push(format!(
                "{at}.{key} is not used: no program is started for a server at an address"
            ));
        }
        for key in OTHER_WAYS.into_iter().filter(|key| is_there(object, key)) {
            self.notes.push(format!(
                "{at}.{key} is not used; put what authorizes you into \"headers\", as a variable such as ${{TOKEN}}"
            ));
        }
        Ok(Launch::Http(remote))
    }

    /// What is secret in an address is not the host: everybody on the way sees that, and errors have to name it.
    fn url(&mut self, at: &str, value: &Value) -> Result<String, String> {
        let Some(text) = value.as_str() else {
            return Err(format!("{at} must be a string, not {}", sort(value)));
        };
        let mut filled_in = Vec::new();
        let url = expand(text, self.variables, &mut filled_in).map_err(|why| format!("{at} {why}"))?;
        if url.len() > MAX_URL {
            return Err(format!("{at} has {} bytes; {MAX_URL} are allowed", url.len()));
        }
        let open = origin(&url);
        self.secrets.extend(
            filled_in
                .into_iter()
                .filter(|value| !open.contains(value) && !value.contains("://")),
        );
        self.secrets.extend(keys_in(&url));
        Ok(url)
    }

    fn headers(&mut self, at: &str, value: Option<&Value>) -> Result<Vec<(String, String)>, String> {
        let headers = self.values(at, value)?;
        for (place, (name, value)) in headers.iter().enumerate() {
            if headers[..place]
                .iter()
                .any(|(other, _)| other.eq_ignore_ascii_case(name))
            {
                return Err(format!(
                    "{at}.{name} stands there twice, in capitals and small letters; remove one"
                ));
            }
            // A server may repeat what it was given without the word before it.
            if let Some((_scheme, key)) = value.trim().split_once(' ')
                && name.to_ascii_lowercase().ends_with("authorization")
            {
                self.secrets.push(key.trim().to_owned());
            }
        }
        if headers.len() > MAX_HEADERS {
            return Err(format!(
                "{at} holds {} headers; {MAX_HEADERS} are allowed",
                headers.len()
            ));
        }
        let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
        if bytes > MAX_HEADER_BYTES {
            return Err(format!(
                "{at} has {bytes} bytes; {MAX_HEADER_BYTES} are allowed, and servers take fewer"
            ));
        }
        Ok(headers)
    }
}

/// Scheme, host and port as they are written, with whatever else stands before the path.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?', '#']).map_or(url.len(), |at| host + at);
    // A user name and a password are no part of the origin, and a mistake here anyway.
    let start = url[host..end].rfind('@').map_or(0, |at| host + at + 1);
    &url[start..end]
}

/// What opens a server to whoever knows its address: the values of the query, and parts of the path that look like keys.
fn keys_in(url: &str) -> Vec<String> {
    let url = url.split('#').next().unwrap_or_default();
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let values = query
        .split('&')
        .map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
    let keys = path.split('/').skip(3).filter(|part| {
        let has = |wanted: fn(&u8) -> bool| part.as_bytes().iter().any(wanted);
        part.len() >= KEY_LENGTH && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
    });
    let found = values.chain(keys).filter(|value| !value.is_empty());
    found.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_ends_before_the_path_and_holds_no_password() {
        for (url, wanted) in [
            ("https://h.example:8/mcp?x", "https://h.example:8"),
            ("http://h?x=/", "http://h"),
            ("https://u:p@h/", "h"),
            ("h/x", "h"),
            ("", ""),
        ] {
            assert_eq!(origin(url), wanted);
        }
    }

    #[test]
    fn keys_stand_in_the_query_and_in_long_parts_of_the_path() {
        let key = "a1b2c3d4e5f6a7b8c9d0";
        assert_eq!(
            keys_in(&format!("https://h/s/{key}/mcp?k=v&w&e=#x={key}")),
            ["v", "w", key]
        );
        assert_eq!(keys_in(&format!("https://h/{}/mcp", &key[1..])), [""; 0]);
        assert_eq!(keys_in("https://h/a-long-name-without-a-digit"), [""; 0]);
        assert_eq!(keys_in(&format!("https://{key}.example/mcp")), [""; 0]);
    }
}
