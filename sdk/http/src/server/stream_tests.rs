use super::*;

fn resumable() -> Arc<Stream> {
    let resumable = Resumable {
        name: 7,
        budget: Arc::new(Budget::new(1024)),
        retry: Some(Duration::from_secs(1)),
    };
    Stream::new(Weak::new(), Some(resumable))
}

fn carried(stream: &Stream, carrier: Carrier) -> (Poll<Carried>, String) {
    let mut out = Vec::new();
    let polled = stream.poll_carry(&mut Context::from_waker(Waker::noop()), carrier, &mut out);
    (polled, String::from_utf8(out).expect("events are text"))
}

#[test]
fn a_stream_let_go_of_before_anybody_carries_it_sends_the_client_away() {
    let stream = resumable();
    stream.release(Duration::from_millis(100));
    let begin = stream.poll_begin(&mut Context::from_waker(Waker::noop()));
    assert_eq!(begin, Poll::Ready(Begin::Events));
    let (polled, written) = carried(&stream, stream.carry());
    assert_eq!(polled, Poll::Ready(Carried::Last));
    assert_eq!(written.trim_end(), "retry: 100");

    stream.close(Some(b"{}".to_vec()));
    let back = stream.carry_after(0).expect("the client may come back");
    let (polled, written) = carried(&stream, back);
    assert_eq!(polled, Poll::Ready(Carried::Last));
    assert!(written.contains("id: 7-1") && written.contains("data: {}"), "{written}");
}

#[test]
fn who_came_back_is_not_sent_away_again() {
    let stream = resumable();
    stream.carry();
    // The connection broke before it was let go of.
    stream.release(Duration::from_millis(100));
    let back = stream.carry_after(0).expect("the client may come back");
    assert_eq!(carried(&stream, back).0, Poll::Pending);
}

/// A notice and then a cancellation, before anybody looked: a notice is no answer, though it is the only message.
#[test]
fn a_lone_notice_is_not_taken_for_the_answer() {
    let begin = |stream: &Stream| stream.poll_begin(&mut Context::from_waker(Waker::noop()));
    let stream = resumable();
    Outlet::notify(&*stream, b"{}".to_vec());
    stream.close(None);
    assert_eq!(begin(&stream), Poll::Ready(Begin::Events));

    let stream = resumable();
    stream.close(Some(b"{}".to_vec()));
    assert!(matches!(begin(&stream), Poll::Ready(Begin::Whole(..))));
}

/// The budget is full, and nothing of this stream was carried: whoever waits for the answer gets it, whoever
/// went away does not.
#[test]
fn a_full_budget_costs_only_the_answers_that_nobody_waits_for() {
    let budget = Arc::new(Budget::new(1));
    let of = |name| {
        let budget = Arc::clone(&budget);
        let resumable = Resumable {
            name,
            budget,
            retry: None,
        };
        Stream::new(Weak::new(), Some(resumable))
    };
    let (full, waits, left) = (of(1), of(2), of(3));
    full.push(b"{}".to_vec());
    waits.close(Some(b"{}".to_vec()));
    let begun = waits.poll_begin(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(begun, Poll::Ready(Begin::Whole(..))));
    let carrier = left.carry();
    left.drop_carrier(carrier);
    left.close(Some(b"{}".to_vec()));
    let (polled, written) = carried(&left, left.carry());
    assert_eq!((polled, written.as_str()), (Poll::Ready(Carried::Last), ""));
    Outlet::notify(&*left, b"{}".to_vec());
    drop(full);
    assert_eq!(budget.used(), 0, "everything is given back");
}

#[tokio::test]
async fn who_goes_away_before_the_answer_begins_leaves_nothing_behind() {
    let stream = resumable();
    stream.push(b"{}".to_vec());
    let options = Options::default().with_stream_at_once();
    drop(stream.begin(&options));
    assert_eq!(stream.closed_since(), None, "it did not even wait");
    stream.close(None);
    assert_eq!(stream.begin(&options).await, Begin::Events);

    let stream = resumable();
    let options = Options::default();
    let mut waiting = Box::pin(stream.begin(&options));
    let polled = waiting.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(polled, Poll::Pending);
    drop(waiting);
    Outlet::notify(&*stream, b"{}".to_vec());
    stream.push(b"{}".to_vec());
    let budget = &stream.resumable.as_ref().expect("a client may come back").budget;
    assert_eq!(budget.used(), 0);
}

#[test]
fn ids_of_events_are_read_as_they_are_written() {
    assert_eq!(read_event_id(&event_id(3, 14)), Some((3, 14)));
    for broken in [
        "",
        "-",
        "1-",
        "-1",
        "1",
        "a-1",
        "1-a",
        "+1-1",
        "1-+1",
        " 1-1",
        "1-1-1",
        "18446744073709551616-1",
    ] {
        assert_eq!(read_event_id(broken), None, "{broken}");
    }
    assert_eq!(resumable().carry_after(u64::MAX), None);
}
