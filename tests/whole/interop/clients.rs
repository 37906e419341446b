//! Their clients, driving our shipped servers over every transport.

use serde_json::json;
use trunkline::types::Revision;

use super::Way;
use super::foreign::{Report, clients, run};
use super::shipped::Shipped;

/// One server that all clients use, one after another.
fn weather(way: Way) {
    let server = Shipped::start(&["weather"], way);
    for (client, agreed) in clients(way) {
        let report = run(&client, "weather", &server.arguments());
        assert_eq!(report.0["protocol"], agreed.name(), "{client:?}");
        assert_eq!(report.complaints(), Vec::<&str>::new(), "{client:?}");
        check_weather(&report, agreed);
    }
    server.end();
}

/// A server for each client, since each of them cancels the same order.
fn orders(way: Way) {
    for (client, agreed) in clients(way) {
        let server = Shipped::start(&["orders", "--role", "admin"], way);
        let report = run(&client, "orders", &server.arguments());
        assert_eq!(report.0["protocol"], agreed.name(), "{client:?}");
        assert_eq!(report.complaints(), Vec::<&str>::new(), "{client:?}");
        check_orders(&report, agreed);
        server.end();
    }
}

fn check_weather(report: &Report, revision: Revision) {
    assert_eq!(report.0["server"]["name"], "weather");
    assert_eq!(report.step("list tools")["tools"][0]["name"], "get_weather");
    let seoul = report.step("call get_weather Seoul");
    assert_eq!(seoul["isError"], false);
    assert!(
        seoul["text"].as_str().is_some_and(|text| text.contains("Seoul")),
        "{seoul}"
    );
    let structured = revision >= Revision::V2025_06_18;
    assert_eq!(seoul["structuredContent"]["city"] == "Seoul", structured, "{revision}");
    assert_eq!(report.step("call get_weather Nowhereville")["isError"], true);
    let read = report.step("read first resource");
    assert!(read["contents"][0]["length"].as_u64().is_some_and(|n| n > 100));
    let prompt = report.step("get first prompt");
    assert!(prompt["messages"].to_string().contains("Seoul"));
    let completed = report.step("complete city");
    let values = completed["values"].as_array();
    assert!(values.is_some_and(|values| values.contains(&json!("Seoul"))));
}

fn check_orders(report: &Report, revision: Revision) {
    assert_eq!(report.step("list tools")["tools"].as_array().map(Vec::len), Some(5));
    assert!(report.step("call count_orders paid")["text"].to_string().contains('9'));
    assert_eq!(report.step("call get_order 1")["isError"], false);
    assert_eq!(
        report.step("read orders://order/1")["contents"][0]["uri"],
        "orders://order/1"
    );
    let accepted = report.step("call cancel_order 2 accepting");
    if revision < Revision::V2025_06_18 {
        assert_eq!(
            accepted["isError"], true,
            "nobody can be asked, so nothing is cancelled: {revision}"
        );
        return;
    }
    report.step("call list_orders next page");
    assert_eq!(accepted["structuredContent"]["cancelled"], true, "{accepted}");
    let asked = &report.asked("call cancel_order 2 accepting")[0];
    assert!(
        asked["message"].as_str().is_some_and(|message| message.contains('2')),
        "{asked}"
    );
    assert_eq!(asked["schema"]["properties"]["confirm"]["type"], "boolean");
    let declined = report.step("call cancel_order 3 declining");
    assert_eq!(declined["structuredContent"]["cancelled"], false, "{declined}");
}

#[test]
fn the_weather_server_serves_them_all_over_stdio() {
    weather(Way::Stdio);
}

#[test]
fn the_weather_server_serves_them_all_over_http() {
    weather(Way::Http);
}

#[test]
fn the_weather_server_serves_them_all_over_the_first_http_transport() {
    weather(Way::HttpSse);
}

#[test]
fn the_orders_server_asks_them_all_before_it_cancels_over_stdio() {
    orders(Way::Stdio);
}

#[test]
fn the_orders_server_asks_them_all_before_it_cancels_over_http() {
    orders(Way::Http);
}

#[test]
fn the_orders_server_asks_them_all_before_it_cancels_over_the_first_http_transport() {
    orders(Way::HttpSse);
}
