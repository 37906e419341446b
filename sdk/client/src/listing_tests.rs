use super::*;
use serde_json::json;
use trunkline_types::ErrorObject;

const SMALL: Bounds = Bounds {
    pages: 5,
    items: 10,
    bytes: 10_000,
};

fn raw(value: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).unwrap()
}

/// Reads a list of `pages` pages, each with `size` new prompts.
async fn read(bounds: Bounds, pages: usize, size: usize) -> Collected<Prompt> {
    let mut asked = 0;
    let collected = collect::<Prompt, _, _>(bounds, false, |cursor| {
        assert_eq!(cursor, (asked > 0).then(|| asked.to_string()));
        let prompts: Vec<Value> = (0..size).map(|n| json!({ "name": format!("{asked}-{n}") })).collect();
        asked += 1;
        let mut page = json!({ "prompts": prompts });
        if asked < pages {
            page["nextCursor"] = asked.to_string().into();
        }
        std::future::ready(Ok(raw(&page)))
    });
    collected.await.unwrap()
}

#[tokio::test]
async fn pages_have_a_bound_on_both_sides() {
    let whole = read(SMALL, 5, 1).await;
    assert!(whole.whole && whole.listing.warnings.is_empty() && whole.listing.items.len() == 5);
    let cut = read(SMALL, 6, 1).await;
    assert!(!cut.whole && cut.listing.items.len() == 5);
    assert!(
        cut.listing.warnings[0].contains("more than 5 pages"),
        "{:?}",
        cut.listing.warnings
    );
}

#[tokio::test]
async fn items_have_a_bound_on_both_sides() {
    let whole = read(SMALL, 2, 5).await;
    assert!(whole.whole && whole.listing.items.len() == 10);
    let cut = read(SMALL, 1, 11).await;
    assert!(!cut.whole && cut.listing.items.len() == 10, "what came is kept");
    assert!(
        cut.listing.warnings[0].contains("more than 10 items"),
        "{:?}",
        cut.listing.warnings
    );
}

#[tokio::test]
async fn rejected_items_count_too() {
    let collected = collect::<Prompt, _, _>(SMALL, false, |_| {
        std::future::ready(Ok(raw(&json!({ "prompts": vec![json!(1); 11] }))))
    });
    let collected = collected.await.unwrap();
    assert_eq!(collected.listing.rejected.len(), 10);
    assert!(!collected.whole);
}

#[tokio::test]
async fn bytes_have_a_bound_on_both_sides() {
    let page = |length: usize| {
        let mut page = json!({ "prompts": [], "filler": "" });
        page["filler"] = "x".repeat(length - page.to_string().len()).into();
        raw(&page)
    };
    for (length, whole) in [(SMALL.bytes, true), (SMALL.bytes + 1, false)] {
        let collected = collect::<Prompt, _, _>(SMALL, false, |_| std::future::ready(Ok(page(length))));
        assert_eq!(collected.await.unwrap().whole, whole);
    }
}

#[tokio::test]
async fn two_pages_without_news_are_borne() {
    let mut asked = 0;
    let collected = collect::<Prompt, _, _>(SMALL, false, |_| {
        asked += 1;
        let page = match asked {
            1 | 4 => json!({ "prompts": [{ "name": asked.to_string() }], "nextCursor": asked.to_string() }),
            5 => json!({ "prompts": [] }),
            _ => json!({ "prompts": [], "nextCursor": asked.to_string() }),
        };
        std::future::ready(Ok(raw(&page)))
    });
    let collected = collected.await.unwrap();
    assert!(collected.whole, "{:?}", collected.listing.warnings);
    assert_eq!(collected.listing.items.len(), 2);
}

#[tokio::test]
async fn warnings_have_a_bound() {
    let wide = Bounds { items: 1000, ..SMALL };
    let same = json!({ "prompts": vec![json!({ "name": "p" }); 500] });
    let collected = collect::<Prompt, _, _>(Bounds { bytes: 1 << 20, ..wide }, false, |_| {
        std::future::ready(Ok(raw(&same)))
    });
    let listing = collected.await.unwrap().listing;
    assert_eq!((listing.items.len(), listing.warnings.len()), (1, MAX_WARNINGS + 1));
    assert_eq!(listing.warnings[MAX_WARNINGS], "and 399 more");
}

#[tokio::test]
async fn a_cursor_of_the_wrong_type_ends_the_list() {
    for (cursor, whole) in [(json!(null), true), (json!(7), false)] {
        let mut asked = 0;
        let collected = collect::<Prompt, _, _>(SMALL, false, |_| {
            asked += 1;
            let next = if asked == 1 { json!("2") } else { cursor.clone() };
            let page = json!({ "prompts": [{ "name": asked.to_string() }], "nextCursor": next });
            std::future::ready(Ok(raw(&page)))
        });
        let collected = collected.await.unwrap();
        assert_eq!(collected.whole, whole);
        assert_eq!(collected.listing.items[0].name, "1");
    }
}

#[tokio::test]
async fn only_a_first_page_may_be_missing_as_a_method() {
    let mut asked = 0;
    let collected = collect::<Prompt, _, _>(SMALL, false, |_| {
        asked += 1;
        std::future::ready(match asked {
            1 => Ok(raw(&json!({ "prompts": [{ "name": "p" }], "nextCursor": "2" }))),
            _ => Err(CallError::Refused(ErrorObject::method_not_found("prompts/list"))),
        })
    });
    let collected = collected.await.unwrap();
    assert_eq!(collected.listing.items.len(), 1);
    assert!(
        collected.listing.warnings[0].contains("page 2"),
        "{:?}",
        collected.listing.warnings
    );
    let lost = collect::<Prompt, _, _>(SMALL, false, |_| std::future::ready(Err(CallError::TimedOut)));
    assert_eq!(lost.await.unwrap_err(), CallError::TimedOut);
}
