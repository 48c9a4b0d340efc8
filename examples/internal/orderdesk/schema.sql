PRAGMA foreign_keys = ON;

CREATE TABLE customers (
  id    TEXT PRIMARY KEY,
  name  TEXT NOT NULL,
  email TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE orders (
  id         TEXT PRIMARY KEY,
  customer   TEXT NOT NULL REFERENCES customers (id),
  item       TEXT NOT NULL,
  quantity   INTEGER NOT NULL CHECK (quantity > 0),
  unit_cents INTEGER NOT NULL CHECK (unit_cents > 0),
  status     TEXT NOT NULL CHECK (status IN ('paid', 'shipped', 'delivered')),
  arrives    TEXT NOT NULL DEFAULT ''
) STRICT;

-- A request is an idempotency key. NULLs are distinct to UNIQUE, so callers
-- that give none are not protected.
CREATE TABLE refunds (
  id         INTEGER PRIMARY KEY,
  order_id   TEXT NOT NULL REFERENCES orders (id),
  quantity   INTEGER NOT NULL CHECK (quantity > 0),
  cents      INTEGER NOT NULL CHECK (cents > 0),
  reason     TEXT NOT NULL,
  request    TEXT UNIQUE
) STRICT;

CREATE TABLE shipments (
  id         INTEGER PRIMARY KEY,
  order_id   TEXT NOT NULL UNIQUE REFERENCES orders (id),
  tracking   TEXT NOT NULL UNIQUE,
  request    TEXT UNIQUE
) STRICT;

CREATE TABLE mails (
  id         INTEGER PRIMARY KEY,
  customer   TEXT NOT NULL REFERENCES customers (id),
  body       TEXT NOT NULL CHECK (body <> ''),
  request    TEXT UNIQUE
) STRICT;

INSERT INTO customers (id, name, email) VALUES
  ('C-7', 'Ada Marsh', 'ada@example.com'),
  ('C-8', 'Bo Lindgren', 'bo@example.com'),
  ('C-9', 'Chidi Okafor', 'chidi@example.com');

INSERT INTO orders (id, customer, item, quantity, unit_cents, status, arrives) VALUES
  ('1042', 'C-7', 'porcelain teapot', 2, 2450, 'delivered', '2031-03-02'),
  ('2003', 'C-8', 'desk lamp', 1, 7990, 'paid', ''),
  ('3007', 'C-9', 'garden chair', 4, 3875, 'shipped', '2031-03-14');

INSERT INTO shipments (order_id, tracking) VALUES
  ('1042', 'PL-1042-A'),
  ('3007', 'PL-3007-A');
