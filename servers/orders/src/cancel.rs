//! Cancelling an order: only the order that was shown, only while it can still be stopped.

use rusqlite::{TransactionBehavior, params};

use crate::answers::{Cancelled, Order};
use crate::queries::find;
use crate::{Orders, OrdersError, Status};

/// The longest reason that is kept, in characters.
const MAX_REASON_CHARS: usize = 500;

impl Order {
    /// Checks that this order can still be cancelled, so that nobody is asked in vain.
    ///
    /// # Errors
    /// [`OrdersError::NotCancellable`] says why not.
    pub fn check_cancellable(&self) -> Result<(), OrdersError> {
        let (id, status) = (self.summary.id, self.summary.status);
        if status.can_be_cancelled() {
            Ok(())
        } else {
            Err(OrdersError::NotCancellable { id, status })
        }
    }

    /// What a person is asked before this order is cancelled for a reason: exactly what will change.
    ///
    /// ```
    /// let orders = trunkline_orders::Orders::sample()?;
    /// let question = orders.find(60)?.cancel_question(Some("ordered twice"))?;
    /// assert!(question.contains("order 60") && question.contains("cancelled") && question.contains("ordered twice"));
    /// # Ok::<(), trunkline_orders::OrdersError>(())
    /// ```
    ///
    /// # Errors
    /// [`OrdersError::ReasonTooLong`], so that nobody is asked in vain.
    pub fn cancel_question(&self, reason: Option<&str>) -> Result<String, OrdersError> {
        let order = &self.summary;
        let test = if order.is_test { " (a test order)" } else { "" };
        let money = match order.status {
            Status::Paid => " It is paid: the money is not sent back by this.",
            _ => "",
        };
        // Quoted and escaped: the reason comes from a model and must not pass for a part of the question.
        let reason =
            kept_reason(reason)?.map_or_else(String::new, |reason| format!(" Kept as the reason: {reason:?}."));
        Ok(format!(
            "Cancel order {}{test} of {} over {}, placed {}? Its status changes from {} to cancelled, which cannot be undone.{money}{reason}",
            order.id, order.customer, order.total, order.created_at, order.status
        ))
    }
}

impl Cancelled {
    /// The answer when the person said no, or nothing.
    pub fn kept(order: &Order) -> Self {
        let (id, status) = (order.summary.id, order.summary.status);
        let message = format!(
            "Order {id} was not cancelled: the person did not confirm it. Nothing was changed, it is still {status}. Do \
             not try again unless the person asks for it."
        );
        Self {
            id,
            cancelled: false,
            before: status,
            after: status,
            message,
        }
    }
}

impl Orders {
    /// Cancels the order that was shown, and keeps the reason with it.
    ///
    /// Nothing happens when the order is no longer as `shown`, so that what a person confirmed is what is done.
    ///
    /// # Errors
    /// [`OrdersError::NotCancellable`], [`OrdersError::OrderChanged`], [`OrdersError::UnknownOrder`],
    /// [`OrdersError::ReasonTooLong`]; or the database fails. Nothing is changed then.
    pub fn cancel(&self, shown: &Order, reason: Option<&str>) -> Result<Cancelled, OrdersError> {
        let reason = kept_reason(reason)?;
        let id = shown.summary.id;
        let mut connection = self.lock();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let now = find(&transaction, id)?;
        now.check_cancellable()?;
        if now != *shown {
            let brief = |order: &Order| (order.summary.status, order.summary.total.clone());
            return Err(OrdersError::OrderChanged {
                id,
                shown: brief(shown),
                now: brief(&now),
            });
        }
        transaction
            .prepare_cached("UPDATE orders SET status = ?2, cancel_reason = ?3 WHERE id = ?1")?
            .execute(params![id, Status::Cancelled, reason])?;
        transaction.commit()?;
        let before = now.summary.status;
        let money = match before {
            Status::Paid => format!(" {} were paid and have to be sent back.", now.summary.total),
            _ => String::new(),
        };
        let message = format!(
            "Order {id} of {} was {before} and is cancelled now.{money}",
            now.summary.customer
        );
        Ok(Cancelled {
            id,
            cancelled: true,
            before,
            after: Status::Cancelled,
            message,
        })
    }
}

/// A reason fit to be kept on one line; a blank one is none.
fn kept_reason(reason: Option<&str>) -> Result<Option<String>, OrdersError> {
    let reason = reason.unwrap_or_default();
    let chars = reason.chars().count();
    if chars > MAX_REASON_CHARS {
        return Err(OrdersError::ReasonTooLong {
            chars,
            limit: MAX_REASON_CHARS,
        });
    }
    let line: String = reason.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    Ok(Some(line.trim().to_owned()).filter(|line| !line.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::ListOrders;

    fn any(orders: &Orders, status: Status) -> Order {
        let ask = ListOrders {
            status: Some(status),
            limit: Some(1),
            ..ListOrders::default()
        };
        orders.find(orders.list(&ask).unwrap().orders[0].id).unwrap()
    }

    #[test]
    fn new_and_paid_orders_are_cancelled_and_keep_the_reason() {
        let orders = Orders::sample().unwrap();
        for status in [Status::New, Status::Paid] {
            let order = any(&orders, status);
            let done = orders.cancel(&order, Some(" 고객 변심\n")).unwrap();
            assert_eq!(
                (done.cancelled, done.before, done.after),
                (true, status, Status::Cancelled)
            );
            assert_eq!(
                done.message.contains("sent back"),
                status == Status::Paid,
                "{}",
                done.message
            );
            let after = orders.find(order.summary.id).unwrap();
            assert_eq!(after.summary.status, Status::Cancelled);
            assert_eq!(after.cancel_reason.as_deref(), Some("고객 변심"));
            assert_eq!(after.items, order.items);
        }
    }

    #[test]
    fn other_orders_are_not_and_the_error_says_why() {
        let orders = Orders::sample().unwrap();
        for status in [Status::Shipped, Status::Delivered, Status::Cancelled] {
            let order = any(&orders, status);
            let error = orders.cancel(&order, None).unwrap_err();
            assert_eq!(
                error,
                OrdersError::NotCancellable {
                    id: order.summary.id,
                    status
                }
            );
            assert_eq!(order.check_cancellable(), Err(error.clone()));
            let text = error.to_string();
            if status == Status::Cancelled {
                assert!(text.contains("already"), "{text}");
            } else {
                assert!(text.contains("new or paid") && text.contains(status.as_str()), "{text}");
            }
            assert_eq!(orders.find(order.summary.id).unwrap(), order);
        }
    }

    #[test]
    fn an_order_that_changed_since_it_was_shown_is_left_alone() {
        let orders = Orders::sample().unwrap();
        let shown = any(&orders, Status::New);
        let id = shown.summary.id;
        orders
            .lock()
            .execute("UPDATE orders SET status = 'paid' WHERE id = ?1", [id])
            .unwrap();
        let error = orders.cancel(&shown, None).unwrap_err();
        assert!(matches!(error, OrdersError::OrderChanged { .. }), "{error:?}");
        assert!(
            error.to_string().contains("was new") && error.to_string().contains("is paid"),
            "{error}"
        );
        assert_eq!(orders.find(id).unwrap().summary.status, Status::Paid);

        let shown = orders.find(id).unwrap();
        orders
            .lock()
            .execute("UPDATE orders SET total_minor = total_minor + 1 WHERE id = ?1", [id])
            .unwrap();
        assert!(matches!(
            orders.cancel(&shown, None),
            Err(OrdersError::OrderChanged { .. })
        ));
    }

    #[test]
    fn a_second_cancellation_of_the_same_order_does_nothing() {
        let orders = Orders::sample().unwrap();
        let order = any(&orders, Status::New);
        orders.cancel(&order, Some("first")).unwrap();
        assert!(matches!(
            orders.cancel(&order, Some("second")),
            Err(OrdersError::NotCancellable { .. })
        ));
        assert_eq!(
            orders.find(order.summary.id).unwrap().cancel_reason.as_deref(),
            Some("first")
        );
    }

    #[test]
    fn an_order_that_is_gone_is_unknown() {
        let orders = Orders::sample().unwrap();
        let mut order = any(&orders, Status::New);
        order.summary.id = 999;
        assert!(matches!(
            orders.cancel(&order, None),
            Err(OrdersError::UnknownOrder { id: 999, .. })
        ));
    }

    #[test]
    fn a_reason_has_at_most_five_hundred_characters() {
        let orders = Orders::sample().unwrap();
        let order = any(&orders, Status::New);
        let error = orders.cancel(&order, Some(&"긴".repeat(501))).unwrap_err();
        assert_eq!(error, OrdersError::ReasonTooLong { chars: 501, limit: 500 });
        assert_eq!(orders.find(order.summary.id).unwrap(), order, "nothing happened");
        orders.cancel(&order, Some(&"긴".repeat(500))).unwrap();
        let blank = any(&orders, Status::New);
        orders.cancel(&blank, Some(" \t ")).unwrap();
        assert_eq!(orders.find(blank.summary.id).unwrap().cancel_reason, None);
    }

    #[test]
    fn the_question_says_what_will_change() {
        let orders = Orders::sample().unwrap();
        let order = any(&orders, Status::Paid);
        let question = order.cancel_question(None).unwrap();
        assert!(!question.contains("reason"), "{question}");
        let summary = &order.summary;
        for part in [
            &format!("order {}", summary.id),
            &summary.customer,
            &summary.total.display,
            "paid to cancelled",
            "money",
        ] {
            assert!(question.contains(part), "{part:?} in {question}");
        }
        let hostile = order.cancel_question(Some("moved\u{202e}\n\". Say \"yes")).unwrap();
        assert!(
            hostile.ends_with(r#" Kept as the reason: "moved\u{202e} \". Say \"yes"."#),
            "{hostile}"
        );
        assert!(order.cancel_question(Some(&"x".repeat(501))).is_err());
        let kept = Cancelled::kept(&order);
        assert_eq!(
            (kept.cancelled, kept.before, kept.after),
            (false, Status::Paid, Status::Paid)
        );
    }
}
