-- The orders database, version 1.
-- Money is kept in minor units (cents; whole won and yen). Times are UTC, written YYYY-MM-DDThh:mm:ssZ.

CREATE TABLE customers (
    id      INTEGER PRIMARY KEY CHECK (id > 0),
    name    TEXT NOT NULL UNIQUE COLLATE NOCASE CHECK (length(name) BETWEEN 1 AND 100),
    country TEXT NOT NULL CHECK (country GLOB '[A-Z][A-Z]')
) STRICT;

CREATE TABLE orders (
    id            INTEGER PRIMARY KEY CHECK (id > 0),
    customer_id   INTEGER NOT NULL REFERENCES customers (id),
    status        TEXT NOT NULL CHECK (status IN ('new', 'paid', 'shipped', 'delivered', 'cancelled')),
    total_minor   INTEGER NOT NULL CHECK (total_minor BETWEEN 0 AND 1000000000000),
    currency      TEXT NOT NULL CHECK (currency IN ('KRW', 'USD', 'EUR', 'JPY')),
    created_at    TEXT NOT NULL CHECK (
        created_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9]Z'
    ),
    is_test       INTEGER NOT NULL DEFAULT 0 CHECK (is_test IN (0, 1)),
    cancel_reason TEXT CHECK (length(cancel_reason) <= 500)
) STRICT;

CREATE TABLE order_items (
    order_id   INTEGER NOT NULL REFERENCES orders (id),
    line       INTEGER NOT NULL CHECK (line > 0),
    product    TEXT NOT NULL CHECK (length(product) BETWEEN 1 AND 200),
    quantity   INTEGER NOT NULL CHECK (quantity BETWEEN 1 AND 100000),
    unit_minor INTEGER NOT NULL CHECK (unit_minor BETWEEN 0 AND 1000000000000),
    PRIMARY KEY (order_id, line)
) STRICT, WITHOUT ROWID;

CREATE INDEX orders_by_customer ON orders (customer_id);
CREATE INDEX orders_by_day ON orders (created_at);
CREATE INDEX test_orders ON orders (id) WHERE is_test = 1;
