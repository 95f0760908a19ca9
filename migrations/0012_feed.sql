-- The feed of changes, kept 30 days, which scans of data health read too. A row has up to 250 changes of one transaction, so that a page of
-- the feed reads little more than it shows.
CREATE TABLE change_note (
  account_id uuid NOT NULL REFERENCES account (id),
  -- The account version that the transaction created.
  version    bigint NOT NULL,
  -- Ids of changed entities.
  entities   uuid[] NOT NULL,
  -- Former SKUs of changed variants.
  skus       text[] NOT NULL,
  -- Entities that were created or whose stores changed, as a list of {kind, from, to, ids} (src/drafts/ChangeNote.ts).
  moved      jsonb NOT NULL,
  -- The number of the last change. A note without changes, which only scans read, has the number of the change before.
  last_seq   bigint NOT NULL,
  -- The number of changes.
  rows       integer NOT NULL DEFAULT 0,
  at         timestamptz NOT NULL,
  -- Changes that differ only in their entity, as a list of {type, kind, store, what, count} (src/drafts/FeedChanges.ts).
  groups     jsonb NOT NULL DEFAULT '[]',
  -- The entities of the groups, group after group.
  ids        uuid[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (account_id, last_seq, version)
);

CREATE INDEX change_note_by_version ON change_note (account_id, version);
