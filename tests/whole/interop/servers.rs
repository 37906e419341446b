//! Their servers that speak over stdio alone, driven by our client.

use std::time::Duration;

use serde_json::json;
use trunkline::Client;
use trunkline::proto::Timeouts;
use trunkline::proto::client::Opening;
use trunkline::types::{Era, Revision};

use super::ours::{connect, text};
use super::{node, python};

#[tokio::test]
async fn filesystem() {
    let folder = tempfile::tempdir().unwrap();
    let folder_path = folder.path().canonicalize().unwrap();
    let folder_text = folder_path.to_str().unwrap();
    let command = node("server-filesystem/dist/index.js").arg(folder_text);
    let client = connect(Client::command(command)).await;
    assert!(client.tools().await.unwrap().rejected.is_empty());
    assert!(
        client.prompts().await.unwrap().items.is_empty(),
        "what was not declared is not asked for"
    );
    let path = format!("{folder_text}/a file.txt");
    text(
        &client,
        "write_file",
        json!({ "path": path, "content": "line\n한글\n" }),
    )
    .await;
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "line\n한글\n");
    assert!(
        text(&client, "read_text_file", json!({ "path": path }))
            .await
            .contains("한글")
    );
    let edits = json!({ "path": path, "edits": [{ "oldText": "line", "newText": "changed" }] });
    text(&client, "edit_file", edits).await;
    assert!(
        text(&client, "list_directory", json!({ "path": folder_text }))
            .await
            .contains("a file.txt")
    );
    let found = json!({ "path": folder_text, "pattern": "*.txt" });
    assert!(text(&client, "search_files", found).await.contains("a file.txt"));
    let outside = client
        .call("read_text_file", &json!({ "path": "/etc/hostname" }))
        .await
        .unwrap();
    assert!(outside.failed(), "it stays in its folder");
    client.close().await;
}

#[tokio::test]
async fn time_in_both_eras() {
    for (opening, era) in [
        (Opening::Auto, Era::Modern),
        (Opening::Fixed(Revision::LATEST_LEGACY), Era::Legacy),
    ] {
        let command = python("mcp_server_time").arg("--local-timezone").arg("Asia/Seoul");
        let client = connect(Client::command(command).opening(opening)).await;
        assert_eq!(client.agreement().profile.era, era);
        assert!(
            text(&client, "get_current_time", json!({ "timezone": "Asia/Seoul" }))
                .await
                .contains("Asia/Seoul")
        );
        let ask = json!({ "source_timezone": "Asia/Seoul", "time": "09:00", "target_timezone": "Etc/UTC" });
        assert!(text(&client, "convert_time", ask).await.contains("00:00"));
        let nowhere = client
            .call("get_current_time", &json!({ "timezone": "Nowhere/Land" }))
            .await;
        assert!(nowhere.is_err() || nowhere.is_ok_and(|result| result.failed()));
        client.close().await;
    }
}

#[tokio::test]
async fn git_in_both_eras() {
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path().to_str().unwrap();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"];
        let done = std::process::Command::new("git")
            .current_dir(repository)
            .args(identity)
            .args(arguments)
            .output()
            .expect("git is there");
        assert!(
            done.status.success(),
            "git {arguments:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
    };
    git(&["init", "--quiet"]);
    std::fs::write(folder.path().join("a.txt"), "one\n").unwrap();
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "First commit"]);
    std::fs::write(folder.path().join("a.txt"), "two\n").unwrap();
    for opening in [Opening::Auto, Opening::Fixed(Revision::LATEST_LEGACY)] {
        let command = python("mcp_server_git").arg("--repository").arg(repository);
        let timeouts = Timeouts::fixed(Duration::from_secs(60));
        let client = connect(Client::command(command).opening(opening).timeouts(timeouts)).await;
        let here = json!({ "repo_path": repository });
        assert!(text(&client, "git_status", here.clone()).await.contains("a.txt"));
        assert!(text(&client, "git_diff_unstaged", here.clone()).await.contains("+two"));
        assert!(text(&client, "git_log", here).await.contains("First commit"));
        client.close().await;
    }
}
