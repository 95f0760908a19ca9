-- An address that receives the changes of the account's feed. position: the number of the last change that was delivered, set aside
-- or left out because of its type. due_at: when a process may claim the webhook; while it is claimed, the end of the lease.
CREATE TABLE webhook (
  account_id      uuid NOT NULL REFERENCES account (id),
  id              uuid NOT NULL,
  url             text NOT NULL,
  -- Types of changes. Empty: all.
  topics          text[] NOT NULL,
  -- Encrypted. Until previous_until, deliveries are signed with both secrets.
  secret          bytea NOT NULL,
  previous_secret bytea,
  previous_until  timestamptz,
  -- stopped: no delivery was accepted for three days. gone: the receiver answered 410.
  state           text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'stopped', 'gone')),
  position        bigint NOT NULL,
  -- Failed deliveries since the last accepted one, since when, and why the last one failed.
  failures        integer NOT NULL DEFAULT 0,
  failing_since   timestamptz,
  problem         text,
  delivered_at    timestamptz,
  due_at          timestamptz NOT NULL DEFAULT app_now(),
  claim           uuid,
  claimed_by      text,
  created_at      timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (account_id, id)
);

-- Changes that were set aside, because their delivery failed (waiting), because an earlier change of their entity waits (waiting,
-- without due_at), or because it failed for three days (parked).
CREATE TABLE webhook_delivery (
  account_id uuid NOT NULL REFERENCES account (id),
  webhook_id uuid NOT NULL,
  seq        bigint NOT NULL,
  entity_id  uuid NOT NULL,
  change     jsonb NOT NULL,
  state      text NOT NULL CHECK (state IN ('waiting', 'parked')),
  attempts   integer NOT NULL,
  since      timestamptz NOT NULL DEFAULT app_now(),
  due_at     timestamptz,
  problem    text,
  PRIMARY KEY (account_id, webhook_id, seq),
  FOREIGN KEY (account_id, webhook_id) REFERENCES webhook (account_id, id) ON DELETE CASCADE
);

CREATE INDEX webhook_delivery_due ON webhook_delivery (account_id, webhook_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX webhook_delivery_of_entity ON webhook_delivery (account_id, webhook_id, entity_id, seq) WHERE state = 'waiting';
CREATE INDEX webhook_delivery_parked ON webhook_delivery (account_id, since) WHERE state = 'parked';
