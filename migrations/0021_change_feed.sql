-- The feed of changes: the notes of 0018, kept 30 days for every account. feed_seq is the number of the last change. A transaction
-- draws its numbers when it raises the account's version, under the lock of this row, so changes become visible in the order of
-- their numbers, without gaps. feed_floor: changes up to this number were deleted.
ALTER TABLE account_state ADD COLUMN feed_seq bigint NOT NULL DEFAULT 0;
ALTER TABLE account_state ADD COLUMN feed_floor bigint NOT NULL DEFAULT 0;
ALTER TABLE account_state DROP COLUMN keeps_notes;

-- A row has up to 250 changes of one transaction, so that a page of the feed reads little more than it shows. last_seq: the number
-- of the last of them. rows: how many they are. groups: changes that differ only in their entity, as a list of {type, kind, store,
-- what, count}; ids has their entities, group after group (src/drafts/FeedChanges.ts).
ALTER TABLE change_note ADD COLUMN last_seq bigint;
ALTER TABLE change_note ADD COLUMN rows integer NOT NULL DEFAULT 0;
ALTER TABLE change_note ADD COLUMN at timestamptz;
ALTER TABLE change_note ADD COLUMN groups jsonb NOT NULL DEFAULT '[]';
ALTER TABLE change_note ADD COLUMN ids uuid[] NOT NULL DEFAULT '{}';

-- The notes so far have no changes. Scans go on with them.
UPDATE change_note SET last_seq = -version, at = now();
ALTER TABLE change_note ALTER COLUMN last_seq SET NOT NULL;
ALTER TABLE change_note ALTER COLUMN at SET NOT NULL;
ALTER TABLE change_note DROP CONSTRAINT change_note_pkey;
-- A note without changes, which only scans read, has the number of the change before.
ALTER TABLE change_note ADD PRIMARY KEY (account_id, last_seq, version);
CREATE INDEX change_note_by_version ON change_note (account_id, version);
