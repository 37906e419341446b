//! Configuration files as people write them, and as they get them wrong.

mod addresses;

use super::*;

fn variables(name: &str) -> Option<String> {
    match name {
        "TOKEN" => Some("s3cret-token".to_owned()),
        "HOME" => Some("/home/kim".to_owned()),
        _ => None,
    }
}

fn parsed(text: &str) -> Configuration {
    parse(Path::new("mcp.json"), text, &variables).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn wrong(text: &str) -> String {
    parse(Path::new("mcp.json"), text, &variables).unwrap_err().to_string()
}

/// What is wrong with the one server of this entry.
fn broken(entry: &str) -> String {
    let configuration = parsed(&format!("{{\"mcpServers\":{{\"s\":{entry}}}}}"));
    match &configuration.servers[0].launch {
        Launch::Broken { reason } => reason.clone(),
        other => panic!("{entry} is {other:?}"),
    }
}

fn start(configuration: &Configuration, id: &str) -> Start {
    let entry = configuration.servers.iter().find(|server| server.id == id);
    match entry.map(|entry| entry.launch.clone()) {
        Some(Launch::Start(start)) => start,
        other => panic!("{id} is {other:?}"),
    }
}

#[test]
fn claude_and_cursor_files_are_read() {
    let configuration = parsed(
        r#"{ "globalShortcut": "", "mcpServers": {
            "files": { "command": "npx", "args": ["-y", "some-server", "${userHome}/notes"], "env": { "TOKEN": "${TOKEN}", "PORT": 8080, "OFF": null } },
            "other": { "type": "stdio", "command": "other", "autoApprove": ["x"], "trunkline": { "trusted": true, "timeoutSeconds": 2.5 } }
        } }"#,
    );
    let ids: Vec<&str> = configuration.servers.iter().map(|server| server.id.as_str()).collect();
    assert_eq!(ids, ["files", "other"], "in the order of the file");
    let files = start(&configuration, "files");
    assert_eq!(
        (files.command.as_str(), &files.args[2]),
        ("npx", &"/home/kim/notes".to_owned())
    );
    assert_eq!(
        files.env,
        [("TOKEN".into(), "s3cret-token".into()), ("PORT".into(), "8080".into())]
    );
    let [files, other] = &configuration.servers[..] else {
        panic!("two servers")
    };
    assert_eq!((files.trusted, files.timeout), (false, None));
    assert_eq!(
        (other.trusted, other.timeout),
        (true, Some(std::time::Duration::from_millis(2500)))
    );
    assert!(configuration.secrets.contains(&"s3cret-token".to_owned()));
}

#[test]
fn vs_code_files_are_read_comments_and_all() {
    let text = "\u{feff}{ // mine\n \"servers\": { \"a\": { \"command\": \"${env:TOKEN}\", \"cwd\": \"/srv\", }, }, \"inputs\": [] }";
    let configuration = parsed(text);
    let a = start(&configuration, "a");
    assert_eq!(
        (a.command.as_str(), a.cwd),
        ("s3cret-token", Some(PathBuf::from("/srv")))
    );
    let settings = parsed(r#"{ "editor.fontSize": 12, "mcp": { "servers": { "b": { "command": "b" } } } }"#);
    assert_eq!(start(&settings, "b").command, "b");
}

#[test]
fn a_value_of_the_environment_is_not_shown_by_debug() {
    let configuration = parsed(r#"{"mcpServers":{"s":{"command":"c","env":{"KEY":"hunter2-hunter2"}}}}"#);
    let shown = format!("{:?}", configuration.servers);
    assert!(shown.contains("KEY") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn a_broken_file_is_named_with_line_and_column() {
    let error = wrong("{\n  \"mcpServers\": {\n    \"a\" { }\n  }\n}");
    assert!(error.starts_with("mcp.json:3:9: not valid JSON"), "{error}");
    for (text, part) in [
        ("", "not valid JSON"),
        ("[]", "must be an object"),
        ("{}", "it is empty"),
        (r#"{"mcpservers":{}}"#, "it holds mcpservers"),
        (r#"{"mcpServers":[]}"#, "mcpServers must be an object"),
        (
            r#"{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}"#,
            "mcpServers.a stands there twice",
        ),
    ] {
        let error = wrong(text);
        assert!(error.starts_with("mcp.json") && error.contains(part), "{text}: {error}");
    }
}

#[test]
fn a_broken_server_is_named_by_its_keys_with_what_to_do() {
    for (entry, part) in [
        ("7", "mcpServers.s must be an object"),
        ("{}", "mcpServers.s has no \"command\" and no \"url\""),
        (r#"{"command":["npx","-y"]}"#, "put the program into \"command\""),
        (
            r#"{"command":7}"#,
            "mcpServers.s.command must be a string, not a number",
        ),
        (r#"{"command":"x","args":"-y"}"#, "mcpServers.s.args must be a list"),
        (
            r#"{"command":"x","args":["a",1]}"#,
            "mcpServers.s.args[1] must be a string",
        ),
        (r#"{"command":"x","env":["A=b"]}"#, "mcpServers.s.env must be an object"),
        (
            r#"{"command":"x","env":{"A":{}}}"#,
            "mcpServers.s.env.A must be a string",
        ),
        (
            r#"{"command":"x","env":{"A":"${NONE}"}}"#,
            "mcpServers.s.env.A needs the environment variable NONE",
        ),
        (r#"{"command":"x","cwd":1}"#, "mcpServers.s.cwd must be a string"),
        (
            r#"{"command":"x","trunkline":{"trused":true}}"#,
            "mcpServers.s.trunkline.trused is not known",
        ),
        (
            r#"{"command":"x","trunkline":{"trusted":"yes"}}"#,
            "must be true or false",
        ),
        (
            r#"{"command":"x","trunkline":{"timeoutSeconds":0}}"#,
            "timeoutSeconds must be a number above 0",
        ),
        (
            r#"{"command":"x","trunkline":true}"#,
            "mcpServers.s.trunkline must be an object",
        ),
    ] {
        let reason = broken(entry);
        assert!(reason.contains(part), "{entry}: {reason}");
    }
}

#[test]
fn one_broken_server_does_not_spoil_the_others() {
    let configuration = parsed(
        r#"{"mcpServers":{"bad":{"command":1},"web":{"type":"http","url":"https://example.com/mcp"},
            "off":{"command":"x","disabled":true},"off2":{"command":"x","trunkline":{"disabled":true}},"good":{"command":"y"}}}"#,
    );
    assert!(matches!(configuration.servers[0].launch, Launch::Broken { .. }));
    assert!(matches!(configuration.servers[1].launch, Launch::Http(_)));
    assert_eq!(configuration.servers[2].launch, Launch::Disabled);
    assert_eq!(configuration.servers[3].launch, Launch::Disabled);
    assert_eq!(start(&configuration, "good").command, "y");
}

#[test]
fn too_many_servers_are_refused() {
    let many: Vec<String> = (0..=MAX_SERVERS)
        .map(|n| format!("\"s{n}\":{{\"command\":\"x\"}}"))
        .collect();
    let whole = |count: usize| format!("{{\"mcpServers\":{{{}}}}}", many[..count].join(","));
    assert_eq!(parsed(&whole(MAX_SERVERS)).servers.len(), MAX_SERVERS);
    assert!(wrong(&whole(MAX_SERVERS + 1)).contains("129 servers"));
}

#[test]
fn files_are_found_in_the_order_that_is_written_down() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, id: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("{{\"mcpServers\":{{\"{id}\":{{\"command\":\"x\"}}}}}}")).unwrap();
        path
    };
    let named = file("named.json", "named");
    let by_variable = file("variable.json", "variable");
    file("xdg/trunkline/mcp.json", "own");
    file("home/.config/trunkline/mcp.json", "home");
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let first = |named: Option<&Path>, set: &[(&str, String)]| {
        let variables = |name: &str| {
            set.iter()
                .find(|(other, _)| *other == name)
                .map(|(_, value)| value.clone())
        };
        load(named, Path::new("/bin/trunkline"), &variables).unwrap().servers[0]
            .id
            .clone()
    };
    let variable = ("TRUNKLINE_CONFIG", by_variable.to_string_lossy().into_owned());
    let (xdg, home) = (("XDG_CONFIG_HOME", path("xdg")), ("HOME", path("home")));
    assert_eq!(first(Some(&named), &[variable.clone(), xdg.clone()]), "named");
    assert_eq!(first(None, &[variable, xdg.clone()]), "variable");
    if !cfg!(windows) {
        assert_eq!(first(None, &[xdg, home.clone()]), "own");
        assert_eq!(first(None, std::slice::from_ref(&home)), "home");
    }
    assert_eq!(first(None, &[("HOME", path("empty"))]), "weather");
}

#[test]
fn a_file_that_was_named_must_be_there() {
    let missing = load(Some(Path::new("/nowhere/mcp.json")), Path::new("x"), &|_: &str| None).unwrap_err();
    assert!(
        missing.to_string().starts_with("/nowhere/mcp.json: no such file"),
        "{missing}"
    );
    let folder = tempfile::tempdir().unwrap();
    assert!(load(Some(folder.path()), Path::new("x"), &|_: &str| None).is_err());
}

#[test]
fn the_shipped_servers_are_trusted_and_the_orders_server_may_not_purge() {
    let configuration = built_in(Path::new("/bin/trunkline"));
    assert!(configuration.servers.iter().all(|server| server.trusted));
    assert_eq!(start(&configuration, "weather").args, ["serve", "weather"]);
    assert_eq!(
        start(&configuration, "orders").args,
        ["serve", "orders", "--role", "clerk"]
    );
}

#[test]
fn a_key_that_stands_twice_is_refused_where_it_stands() {
    for (entry, key) in [
        (
            r#"{"command":"x","trunkline":{"trusted":false},"trunkline":{"trusted":true}}"#,
            "mcpServers.s.trunkline",
        ),
        (r#"{"command":"x","c\u006fmmand":"y"}"#, "mcpServers.s.command"),
        (r#"{"command":"x","env":{"A":"1","A":"2"}}"#, "mcpServers.s.env.A"),
    ] {
        let reason = broken(entry);
        assert!(reason.starts_with(&format!("{key} stands there twice")), "{reason}");
    }
    let whole = wrong(r#"{"mcpServers":{"a":{"command":"x"}},"mcpServers":{}}"#);
    assert!(whole.contains("mcpServers stands there twice"), "{whole}");
    // What belongs to other programs is theirs to judge.
    parsed(r#"{"x":{"a":1,"a":2},"mcpServers":{"a":{"command":"x"}}}"#);
}

#[test]
fn servers_in_a_second_place_are_told_about() {
    let configuration = parsed(r#"{"mcpServers":{"a":{"command":"x"}},"servers":{"b":{"command":"y"}}}"#);
    assert_eq!(configuration.servers.len(), 1);
    assert!(
        configuration.notes[0].starts_with("servers is not read"),
        "{:?}",
        configuration.notes
    );
}

#[test]
fn where_a_person_lives_is_no_secret() {
    let configuration =
        parsed(r#"{"mcpServers":{"a":{"command":"x","args":["${HOME}","${TOKEN}"],"env":{"HOME":"${HOME}"}}}}"#);
    assert_eq!(configuration.secrets, ["s3cret-token"]);
}

#[cfg(unix)]
#[test]
fn a_configuration_is_a_file_of_bounded_size() {
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large.json");
    std::fs::File::create(&large).unwrap().set_len(MAX_FILE + 1).unwrap();
    for (file, part) in [
        (large.as_path(), "larger than"),
        (Path::new("/dev/zero"), "a pipe or a device"),
        (folder.path(), "a folder"),
    ] {
        let error = load(Some(file), Path::new("x"), &|_: &str| None).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}
