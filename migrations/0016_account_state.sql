-- The counters of an account. Every writing transaction raises them, while the other columns of `account` rarely
-- change, so they have their own table. On a cluster, this table is on the node with the account's rows, and `account`
-- is on every node. version rises with every visible change of the account. change_seq orders changes of canonical
-- values, for stable lists.
CREATE TABLE account_state (
  account_id      uuid PRIMARY KEY REFERENCES account (id),
  version         bigint NOT NULL DEFAULT 0,
  change_seq      bigint NOT NULL DEFAULT 0,
  last_changed_at timestamptz NOT NULL DEFAULT app_now()
);

INSERT INTO account_state (account_id, version, change_seq, last_changed_at)
SELECT id, version, change_seq, last_changed_at FROM account;

ALTER TABLE account DROP COLUMN version, DROP COLUMN change_seq, DROP COLUMN last_changed_at;

-- The account that a Shopify store is linked to. The key is unique over all accounts; on a cluster, a key of `store`
-- cannot be.
CREATE TABLE shopify_shop (
  domain     text PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account (id)
);

INSERT INTO shopify_shop (domain, account_id)
SELECT domain, account_id FROM store WHERE platform = 'shopify' AND status = 'linked';

DROP INDEX store_shopify_domain;

-- timestamptz + interval is only STABLE, because months and days depend on the time zone; microseconds do not. In an
-- UPDATE, a cluster refuses functions that are not IMMUTABLE. Written in plpgsql, so that PostgreSQL does not inline
-- it.
CREATE FUNCTION plus_micros(instant timestamptz, micros bigint) RETURNS timestamptz
  LANGUAGE plpgsql IMMUTABLE STRICT AS $$ BEGIN RETURN instant + micros * interval '1 microsecond'; END $$;

-- Like rfc3339(), for RETURNING. IMMUTABLE, because the fixed time zone and pattern make it independent of settings.
CREATE FUNCTION stamp_text(instant timestamptz) RETURNS text
  LANGUAGE plpgsql IMMUTABLE STRICT AS $$ BEGIN RETURN to_char(instant AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'); END $$;

-- Identifies the transaction for the guards of 0005. A cluster has no guards, and its nodes do not share transaction
-- ids, so distributing the tables replaces this function by one that returns null.
CREATE FUNCTION tx_stamp() RETURNS xid8 LANGUAGE sql STABLE AS $$ SELECT pg_current_xact_id() $$;

-- On a cluster, each node would draw sequence numbers from its own range. Statements therefore use the next number
-- after the existing rows, while the entities are locked: history is numbered per entity, publications per store.
-- Publications that share an entity thus have the order of their requests; others can have the same number.
ALTER TABLE entity_history ALTER COLUMN sequence DROP IDENTITY;
ALTER TABLE publication ALTER COLUMN sequence DROP IDENTITY;

CREATE INDEX publication_by_store ON publication (account_id, store_id, sequence);

-- Changes of different entities can have the same number.
DROP INDEX entity_history_connection;
CREATE INDEX entity_history_connection ON entity_history (account_id, actor_id, at, sequence, entity_id)
  WHERE actor_kind = 'connection';
