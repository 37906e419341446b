//! The server, driven line by line in both eras.

use serde_json::{Value, json};
use trunkline_testkit::{BOTH, LineClient, assert_plain};

use super::*;
use crate::LiveSettings;

const SEOUL: &str = "Seoul, South Korea: clear, 18.4 °C, humidity 52%, wind 7.9 km/h (sample data).";

async fn connect(revision: &'static str) -> LineClient {
    LineClient::connect(&server(Settings::default()), revision, json!({})).await
}

/// A service that is not there: nobody listens on the lowest port, so connecting is refused at once.
fn unreachable() -> Observations {
    Observations::Service(Live::new(LiveSettings {
        geocoding: "http://127.0.0.1:1".to_owned(),
        forecast: "http://127.0.0.1:1".to_owned(),
        ..LiveSettings::default()
    }))
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn the_tool_is_described_and_its_schemas_are_plain() {
    for revision in BOTH {
        let tools = connect(revision).await.list("tools/list", "tools").await;
        let [tool] = tools.as_slice() else { panic!("{tools:?}") };
        assert_eq!(
            (&tool["name"], &tool["title"]),
            (&json!("get_weather"), &json!("Current weather"))
        );
        assert_eq!(
            tool["annotations"],
            json!({ "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false })
        );
        let input = &tool["inputSchema"];
        assert_eq!(input["required"], json!(["city"]));
        assert_plain(input, "input");
        let output = &tool["outputSchema"];
        assert_eq!(
            output["properties"].as_object().unwrap().len(),
            output["required"].as_array().unwrap().len()
        );
        assert_plain(output, "output");
    }
}

#[tokio::test]
async fn a_city_has_a_sentence_in_its_language_and_a_structured_result() {
    for revision in BOTH {
        let mut client = connect(revision).await;
        let result = client.call("get_weather", json!({ "city": "Seoul" })).await;
        assert_eq!(text(&result), SEOUL);
        assert_eq!(
            result["structuredContent"],
            serde_json::to_value(sample("Seoul").unwrap()).unwrap()
        );
        let as_text: Value = serde_json::from_str(result["content"][1]["text"].as_str().unwrap()).unwrap();
        assert_eq!(as_text, result["structuredContent"]);

        let result = client.call("get_weather", json!({ "city": "서울" })).await;
        assert!(text(&result).starts_with("서울의 현재 날씨: 맑음"), "{result}");
    }
}

#[tokio::test]
async fn an_unknown_city_is_an_error_the_model_can_mend() {
    for revision in BOTH {
        let mut client = connect(revision).await;
        let result = client.call("get_weather", json!({ "city": "Soeul" })).await;
        assert_eq!(result["isError"], true);
        assert!(
            text(&result).contains("Seoul (서울)") && text(&result).contains(CITIES_URI),
            "{result}"
        );
        assert!(result.get("structuredContent").is_none(), "{result}");
    }
}

#[tokio::test]
async fn wrong_arguments_are_an_error_that_names_the_argument() {
    for revision in BOTH {
        let mut client = connect(revision).await;
        for wrong in [
            json!({}),
            json!({ "city": 7 }),
            json!({ "city": "" }),
            json!({ "city": null }),
            json!({ "city": "x".repeat(101) }),
        ] {
            let result = client.call("get_weather", wrong.clone()).await;
            assert_eq!(result["isError"], true, "{wrong}");
            assert!(text(&result).contains("city"), "{wrong}: {result}");
        }
    }
}

#[tokio::test]
async fn the_first_revision_gets_text_alone_and_a_protocol_error_for_wrong_arguments() {
    let mut client = connect("2024-11-05").await;
    let result = client.call("get_weather", json!({ "city": "Seoul" })).await;
    assert_eq!(text(&result), SEOUL);
    assert!(result.get("structuredContent").is_none(), "{result}");
    let reply = client
        .request(
            "tools/call",
            json!({ "name": "get_weather", "arguments": { "town": "Seoul" } }),
        )
        .await;
    assert_eq!(reply["error"]["code"], -32602, "{reply}");
    assert!(reply["error"]["message"].as_str().unwrap().contains("city"), "{reply}");
}

#[tokio::test]
async fn the_cities_and_the_weather_of_each_can_be_read() {
    for revision in BOTH {
        let mut client = connect(revision).await;
        let resources = client.list("resources/list", "resources").await;
        assert_eq!(resources.len(), 1);
        assert_eq!(resources[0]["uri"], CITIES_URI);
        let cities = client.read_json(CITIES_URI).await;
        assert_eq!(cities.as_array().unwrap().len(), CITIES.len());
        assert_eq!(
            (&cities[0]["city"], &cities[0]["city_ko"]),
            (&json!("Seoul"), &json!("서울"))
        );

        let templates = client.list("resources/templates/list", "resourceTemplates").await;
        assert_eq!(templates.len(), 1);
        assert_eq!(templates[0]["uriTemplate"], CITY_TEMPLATE);
        for uri in [
            "weather://city/New%20York",
            "weather://city/%EB%89%B4%EC%9A%95",
            "weather://city/nyc",
        ] {
            assert_eq!(client.read_json(uri).await["city"], "New York", "{uri}");
        }
    }
}

#[tokio::test]
async fn a_city_that_is_not_there_is_a_resource_that_is_not_there() {
    for (revision, code) in [("2024-11-05", -32002), ("2025-11-25", -32002), ("2026-07-28", -32602)] {
        let mut client = connect(revision).await;
        let reply = client
            .request("resources/read", json!({ "uri": "weather://city/Soeul" }))
            .await;
        assert_eq!(reply["error"]["code"], code, "{reply}");
        assert!(reply["error"]["message"].as_str().unwrap().contains("Seoul"), "{reply}");
    }
}

async fn prompt(client: &mut LineClient, arguments: Value) -> Result<String, Value> {
    let params = json!({ "name": PROMPT, "arguments": arguments });
    let reply = client.request("prompts/get", params).await;
    if reply.get("error").is_some() {
        return Err(reply["error"].clone());
    }
    let messages = reply["result"]["messages"].as_array().unwrap();
    assert_eq!((messages.len(), &messages[0]["role"]), (1, &json!("user")));
    Ok(messages[0]["content"]["text"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn the_prompt_needs_a_city_and_follows_its_language() {
    for revision in BOTH {
        let mut client = connect(revision).await;
        let prompts = client.list("prompts/list", "prompts").await;
        assert_eq!((prompts.len(), &prompts[0]["name"]), (1, &json!(PROMPT)));
        let arguments = prompts[0]["arguments"].as_array().unwrap();
        let shown: Vec<_> = arguments.iter().map(|one| (&one["name"], &one["required"])).collect();
        assert_eq!(
            shown,
            [(&json!("city"), &json!(true)), (&json!("language"), &json!(false))]
        );
        assert!(arguments.iter().all(|one| one["description"].is_string()));

        let english = prompt(&mut client, json!({ "city": "seoul" })).await.unwrap();
        assert!(
            english.contains("get_weather") && english.contains("\"Seoul\""),
            "{english}"
        );
        let korean = prompt(&mut client, json!({ "city": "서울특별시", "language": "" }))
            .await
            .unwrap();
        assert!(
            korean.contains("get_weather") && korean.contains("\"서울\""),
            "{korean}"
        );
        let korean = prompt(&mut client, json!({ "city": "Seoul", "language": "ko" }))
            .await
            .unwrap();
        assert!(korean.starts_with("서울의 현재 날씨"), "{korean}");

        for (wrong, part) in [
            (json!({}), "city"),
            (json!({ "city": "Soeul" }), "Seoul (서울)"),
            (json!({ "city": " " }), "no city"),
            (json!({ "city": "Seoul", "language": "fr" }), "\"fr\""),
        ] {
            let error = prompt(&mut client, wrong.clone()).await.unwrap_err();
            assert_eq!(error["code"], -32602, "{wrong}");
            assert!(error["message"].as_str().unwrap().contains(part), "{wrong}: {error}");
        }
    }
}

#[tokio::test]
async fn city_names_and_languages_are_completed() {
    for revision in BOTH {
        let mut client = connect(revision).await;
        let of_prompt = json!({ "type": "ref/prompt", "name": PROMPT });
        let of_template = json!({ "type": "ref/resource", "uri": CITY_TEMPLATE });
        assert_eq!(client.complete(of_prompt.clone(), "city", "Seo").await, ["Seoul"]);
        assert_eq!(client.complete(of_template.clone(), "name", "부사").await, ["부산"]);
        assert!(client.complete(of_template, "name", "").await.len() >= 50);
        assert_eq!(client.complete(of_prompt.clone(), "language", "k").await, ["ko"]);
        assert!(client.complete(of_prompt, "language", "x").await.is_empty());
    }
}

#[tokio::test]
async fn live_reaches_into_the_world_and_says_in_plain_words_when_it_cannot() {
    for revision in BOTH {
        let mut client = LineClient::connect(&serving(unreachable()), revision, json!({})).await;
        let tools = client.list("tools/list", "tools").await;
        assert_eq!(tools[0]["annotations"]["openWorldHint"], true);

        let result = client.call("get_weather", json!({ "city": "Seoul" })).await;
        assert_eq!(result["isError"], true);
        assert!(
            text(&result).contains("could not be reached") && text(&result).contains("--live"),
            "{result}"
        );
        let reply = client
            .request("resources/read", json!({ "uri": "weather://city/Seoul" }))
            .await;
        assert_eq!(reply["error"]["code"], -32603, "{reply}");

        // The service may know a city that the table does not.
        let asked = prompt(&mut client, json!({ "city": "Gimje" })).await.unwrap();
        assert!(asked.contains("\"Gimje\""), "{asked}");
    }
}

#[tokio::test]
async fn live_calls_are_limited() {
    let mut client = LineClient::connect(&serving(unreachable()), BOTH[0], json!({})).await;
    let mut refused = None;
    for _ in 0..=LIVE_CALLS_A_MINUTE {
        let result = client.call("get_weather", json!({ "city": "Seoul" })).await;
        refused = Some(result).filter(|result| text(result).contains("try again"));
    }
    assert!(refused.is_some(), "the last call is one too many");
}

#[tokio::test]
async fn instructions_say_where_the_data_comes_from() {
    for (settings, source) in [(false, "sample data"), (true, "Open-Meteo")] {
        let server = server(Settings { live: settings });
        let mut client = LineClient::connect(&server, "2026-07-28", json!({})).await;
        let reply = client.request("server/discover", json!({})).await;
        let said = reply["result"]["instructions"].as_str().unwrap();
        assert!(said.contains(source) && said.contains("get_weather"), "{said}");
        assert_eq!(server.check(), Ok(()));
    }
}
