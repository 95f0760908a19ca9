-- The counters of an account. They have a table of their own because every writing transaction raises them, while the row of
-- `account` names the account and rarely changes. On a cluster the counters are on the node of the account's rows, and `account` is
-- on every node. version rises with every visible change of the account. change_seq orders changes of canonical values, for stable
-- lists.
CREATE TABLE account_state (
  account_id      uuid PRIMARY KEY REFERENCES account (id),
  version         bigint NOT NULL DEFAULT 0,
  change_seq      bigint NOT NULL DEFAULT 0,
  last_changed_at timestamptz NOT NULL DEFAULT app_now()
);

INSERT INTO account_state (account_id, version, change_seq, last_changed_at)
SELECT id, version, change_seq, last_changed_at FROM account;

ALTER TABLE account DROP COLUMN version, DROP COLUMN change_seq, DROP COLUMN last_changed_at;

-- The account that a Shopify store is linked to. The key holds over all accounts, which a key of `store` on a cluster cannot.
CREATE TABLE shopify_shop (
  domain     text PRIMARY KEY,
  account_id uuid NOT NULL REFERENCES account (id)
);

INSERT INTO shopify_shop (domain, account_id)
SELECT domain, account_id FROM store WHERE platform = 'shopify' AND status = 'linked';

DROP INDEX store_shopify_domain;

-- timestamptz + interval is only STABLE, because months and days depend on the time zone. Microseconds do not. A cluster
-- refuses functions that are not IMMUTABLE on the columns of an UPDATE. In plpgsql, because PostgreSQL does not inline it then.
CREATE FUNCTION plus_micros(instant timestamptz, micros bigint) RETURNS timestamptz
  LANGUAGE plpgsql IMMUTABLE STRICT AS $$ BEGIN RETURN instant + micros * interval '1 microsecond'; END $$;

-- As rfc3339(), for RETURNING. It depends on no setting, because the time zone and the pattern are fixed.
CREATE FUNCTION stamp_text(instant timestamptz) RETURNS text
  LANGUAGE plpgsql IMMUTABLE STRICT AS $$ BEGIN RETURN to_char(instant AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'); END $$;

-- Identifies the transaction to the guards of 0005. A cluster has no guards, and its nodes do not share transaction ids, so
-- distribution replaces this function by one that returns null.
CREATE FUNCTION tx_stamp() RETURNS xid8 LANGUAGE sql STABLE AS $$ SELECT pg_current_xact_id() $$;

-- Sequences would give the nodes of a cluster numbers from different ranges. Statements number rows after the existing ones
-- instead, under the locks of the entities: history by entity, publications by store. Publications that share an entity thus
-- have the order of their requests; others can have the same number.
ALTER TABLE entity_history ALTER COLUMN sequence DROP IDENTITY;
ALTER TABLE publication ALTER COLUMN sequence DROP IDENTITY;

CREATE INDEX publication_by_store ON publication (account_id, store_id, sequence);

-- Changes of different entities can have the same number.
DROP INDEX entity_history_connection;
CREATE INDEX entity_history_connection ON entity_history (account_id, actor_id, at, sequence, entity_id)
  WHERE actor_kind = 'connection';
