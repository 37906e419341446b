//! Counting, listing and finding in the sample.

use super::*;

fn listing(limit: u32, cursor: Option<String>) -> ListOrders {
    ListOrders {
        limit: Some(limit),
        cursor,
        ..ListOrders::default()
    }
}

/// Follows the cursors to the end.
fn pages(orders: &Orders, first: &ListOrders) -> Vec<OrderPage> {
    let mut pages = vec![orders.list(first).unwrap()];
    while let Some(cursor) = pages.last().unwrap().next_cursor.clone() {
        assert!(pages.len() < 100, "the cursors lead in a circle");
        pages.push(
            orders
                .list(&ListOrders {
                    cursor: Some(cursor),
                    ..first.clone()
                })
                .unwrap(),
        );
    }
    pages
}

#[test]
fn counts_by_status_add_up_and_leave_test_orders_out() {
    let orders = Orders::sample().unwrap();
    let count = |status, include_test| {
        orders
            .count(&CountOrders {
                status,
                include_test,
                ..CountOrders::default()
            })
            .unwrap()
            .count
    };
    let by_status: u64 = Status::ALL.into_iter().map(|status| count(Some(status), None)).sum();
    assert_eq!(by_status, count(None, None));
    assert_eq!(count(None, Some(true)), 60);
    assert_eq!(
        count(None, Some(true)) - count(None, None),
        7,
        "test orders of the sample"
    );
    assert_eq!(count(None, Some(false)), count(None, None));
    assert_eq!(count(Some(Status::Paid), None), 9);
}

#[test]
fn a_customer_is_found_by_name_part_case_and_form() {
    let orders = Orders::sample().unwrap();
    let name = |asked: &str| {
        let ask = CountOrders {
            customer: Some(asked.into()),
            ..CountOrders::default()
        };
        orders.count(&ask).map(|count| count.customer.unwrap())
    };
    for (asked, full) in [
        ("김민지", "김민지"),
        ("민지", "김민지"),
        (
            "\u{1100}\u{1175}\u{11B7}\u{1106}\u{1175}\u{11AB}\u{110C}\u{1175}",
            "김민지",
        ),
        ("alice johnson", "Alice Johnson"),
        (" Alice   Johnson ", "Alice Johnson"),
        ("ALICE", "Alice Johnson"),
        ("Chloe\u{301} Dubois", "Chloé Dubois"),
        ("花子", "田中 花子"),
    ] {
        assert_eq!(name(asked).as_deref(), Ok(full), "{asked}");
    }
    assert!(matches!(name("홍길동"), Err(OrdersError::UnknownCustomer { .. })));
    assert!(name("홍길동").unwrap_err().to_string().contains("홍길동"));
    let several = name("a").unwrap_err();
    assert!(
        matches!(&several, OrdersError::AmbiguousCustomer { names, more: true, .. } if names.len() == 3),
        "{several:?}"
    );
    assert!(several.to_string().contains("Alice Johnson"), "{several}");
    for wrong in ["", "  ", &"가".repeat(101)] {
        assert_eq!(name(wrong), Err(OrdersError::BadCustomer), "{wrong:?}");
    }
    assert!(
        matches!(name(&"가".repeat(100)), Err(OrdersError::UnknownCustomer { .. })),
        "the limit itself is read"
    );
}

#[test]
fn sql_in_a_name_is_a_name() {
    let orders = Orders::sample().unwrap();
    for hostile in ["'; DROP TABLE orders; --", "x' OR '1'='1", "%", "_", "Alice\" OR 1=1"] {
        let ask = CountOrders {
            customer: Some(hostile.into()),
            ..CountOrders::default()
        };
        assert!(
            matches!(orders.count(&ask), Err(OrdersError::UnknownCustomer { .. })),
            "{hostile}"
        );
    }
    assert_eq!(
        orders
            .count(&CountOrders {
                include_test: Some(true),
                ..CountOrders::default()
            })
            .unwrap()
            .count,
        60
    );
}

#[test]
fn pages_of_any_size_show_every_order_once_the_newest_first() {
    let orders = Orders::sample().unwrap();
    for limit in [1, 7, 53, 100] {
        let pages = pages(&orders, &listing(limit, None));
        let ids: Vec<i64> = pages
            .iter()
            .flat_map(|page| &page.orders)
            .map(|order| order.id)
            .collect();
        assert!(ids.windows(2).all(|pair| pair[0] > pair[1]), "limit {limit}: {ids:?}");
        assert_eq!(ids.len(), 53, "limit {limit}");
        for page in &pages {
            assert_eq!(page.total, 53);
            assert!((1..=limit as usize).contains(&page.orders.len()));
        }
    }
    assert_eq!(
        orders.list(&ListOrders::default()).unwrap().orders.len(),
        DEFAULT_LIMIT as usize
    );
}

#[test]
fn filters_hold_on_every_page() {
    let orders = Orders::sample().unwrap();
    let ask = ListOrders {
        status: Some(Status::Delivered),
        customer: Some("김민지".into()),
        limit: Some(1),
        ..ListOrders::default()
    };
    let listed: Vec<OrderSummary> = pages(&orders, &ask).into_iter().flat_map(|page| page.orders).collect();
    let counted = orders
        .count(&CountOrders {
            status: ask.status,
            customer: ask.customer.clone(),
            include_test: None,
        })
        .unwrap()
        .count;
    assert_eq!(listed.len() as u64, counted);
    assert!(counted > 1, "the sample has more than a page of them");
    assert!(
        listed
            .iter()
            .all(|order| order.customer == "김민지" && order.status == Status::Delivered && !order.is_test)
    );
    let test: Vec<bool> = pages(
        &orders,
        &ListOrders {
            include_test: Some(true),
            ..listing(100, None)
        },
    )
    .into_iter()
    .flat_map(|page| page.orders)
    .map(|order| order.is_test)
    .collect();
    assert_eq!((test.len(), test.iter().filter(|test| **test).count()), (60, 7));
}

#[test]
fn the_limit_is_one_to_a_hundred() {
    let orders = Orders::sample().unwrap();
    for limit in [1, 100] {
        assert!(orders.list(&listing(limit, None)).is_ok(), "{limit}");
    }
    for limit in [0, 101, u32::MAX] {
        let error = orders.list(&listing(limit, None)).unwrap_err();
        assert_eq!(error, OrdersError::BadLimit { limit });
        assert!(error.to_string().contains("1 to 100"), "{error}");
    }
}

#[test]
fn a_cursor_of_another_listing_or_none_at_all_is_refused() {
    let orders = Orders::sample().unwrap();
    let cursor = orders.list(&listing(5, None)).unwrap().next_cursor;
    assert!(
        orders.list(&listing(50, cursor.clone())).is_ok(),
        "the page size may change"
    );
    let other = ListOrders {
        status: Some(Status::Paid),
        ..listing(5, cursor)
    };
    assert!(orders.list(&other).unwrap_err().to_string().contains("another filter"));
    for malformed in ["", "2", "다음", "MS4xLg"] {
        let error = orders.list(&listing(5, Some(malformed.into()))).unwrap_err();
        assert!(matches!(error, OrdersError::BadCursor { .. }), "{malformed}: {error:?}");
        assert!(error.to_string().contains("next_cursor"), "{error}");
    }
}

#[test]
fn orders_that_come_and_go_between_pages_shift_nothing() {
    let orders = Orders::sample().unwrap();
    let first = orders.list(&listing(10, None)).unwrap();
    orders
        .lock()
        .execute_batch(
            "INSERT INTO orders SELECT 1000, customer_id, status, total_minor, currency, created_at, 0, NULL FROM orders WHERE id = 1;
             DELETE FROM order_items WHERE order_id = 60; DELETE FROM orders WHERE id = 60;",
        )
        .unwrap();
    let second = orders.list(&listing(10, first.next_cursor)).unwrap();
    assert!(second.orders[0].id < first.orders[9].id);
    assert_eq!(second.orders.len(), 10);
}

#[test]
fn an_order_is_found_with_items_that_add_up() {
    let orders = Orders::sample().unwrap();
    for id in 1..=60 {
        let order = orders.find(id).unwrap();
        assert_eq!(order.summary.id, id);
        let sum: i64 = order
            .items
            .iter()
            .map(|item| item.quantity * item.unit_price.minor)
            .sum();
        assert_eq!(sum, order.summary.total.minor, "order {id}");
        assert!(
            order
                .items
                .iter()
                .all(|item| item.unit_price.currency == order.summary.total.currency)
        );
    }
}

#[test]
fn an_unknown_number_says_which_there_are() {
    let orders = Orders::sample().unwrap();
    for id in [0, -1, 61, i64::MAX, i64::MIN] {
        let error = orders.find(id).unwrap_err();
        assert_eq!(
            error,
            OrdersError::UnknownOrder {
                id,
                range: Some((1, 60))
            }
        );
        assert!(
            error.to_string().contains("between 1 and 60") && error.to_string().contains("list_orders"),
            "{error}"
        );
    }
    let empty = tempfile::NamedTempFile::new().unwrap();
    let error = Orders::open(empty.path()).unwrap().find(1).unwrap_err();
    assert_eq!(error, OrdersError::UnknownOrder { id: 1, range: None });
}

#[test]
fn an_empty_database_has_one_empty_page() {
    let empty = tempfile::NamedTempFile::new().unwrap();
    let page = Orders::open(empty.path())
        .unwrap()
        .list(&ListOrders::default())
        .unwrap();
    assert_eq!(
        page,
        OrderPage {
            orders: vec![],
            next_cursor: None,
            total: 0
        }
    );
}
