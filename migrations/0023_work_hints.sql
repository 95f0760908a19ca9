-- Accounts that may have work of a kind, and when it may be due at the earliest. Workers on a cluster ask these accounts only, instead
-- of every node. Rows are hints: the account's own rows decide. A missing row is found by a scan, a needless row is deleted.
-- Without a cluster the table is empty.
CREATE TABLE work_hint (
  account_id uuid NOT NULL,
  kind       text NOT NULL CHECK (kind IN ('publication', 'drop', 'job', 'import')),
  due_at     timestamptz NOT NULL,
  PRIMARY KEY (account_id, kind)
);

CREATE INDEX work_hint_due ON work_hint (kind, due_at);
