CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE EXTENSION IF NOT EXISTS btree_gin;

-- Products, variants, collections and media in one table: a wrong kind is one predicate, and lists, drafts and scans are
-- written once. attributes maps key -> {value, type}. pending_publish, last_publish_status, store_ids and search_text are
-- kept by the write that changes their sources, so that filters use indexes.
-- change_seq and canonical_changed_at are null only between a row's insert and the stamp that ends its transaction;
-- stamped_by is the transaction that stamped last (the guards below read it).
CREATE TABLE entity (
  account_id           uuid NOT NULL REFERENCES account (id),
  id                   uuid NOT NULL,
  kind                 text NOT NULL CHECK (kind IN ('product', 'variant', 'collection', 'media')),
  parent_id            uuid,
  position             integer,
  attributes           jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(attributes) = 'object'),
  title                text NOT NULL GENERATED ALWAYS AS (
    CASE WHEN kind = 'media'
      THEN coalesce(nullif(attributes #>> '{file_name,value}', ''), nullif(attributes #>> '{alt,value}', ''), attributes #>> '{url,value}', '')
      ELSE coalesce(attributes #>> '{title,value}', '')
    END
  ) STORED,
  draft_revision       integer NOT NULL DEFAULT 0,
  change_seq           bigint,
  canonical_changed_at timestamptz,
  stamped_by           xid8,
  created_at           timestamptz NOT NULL DEFAULT app_now(),
  pending_publish      boolean NOT NULL DEFAULT false,
  last_publish_status  text NOT NULL DEFAULT 'never_published'
    CHECK (last_publish_status IN ('never_published', 'pending', 'published', 'failed')),
  store_ids            uuid[] NOT NULL DEFAULT '{}',
  search_text          text NOT NULL DEFAULT '',
  PRIMARY KEY (account_id, id),
  FOREIGN KEY (account_id, parent_id) REFERENCES entity (account_id, id),
  CHECK ((kind = 'variant') = (parent_id IS NOT NULL)),
  CHECK ((kind = 'variant') = (position IS NOT NULL))
);

-- Partial, so that change_seq is no key that a foreign key could point to: a stamp then leaves alone the key-share locks
-- that foreign keys take on media and members, and no writer waits for one that refers to what it writes.
CREATE UNIQUE INDEX entity_change_seq ON entity (account_id, change_seq) WHERE change_seq IS NOT NULL;
CREATE INDEX entity_walk ON entity (account_id, kind, change_seq);
CREATE INDEX entity_walk_by_status ON entity (account_id, kind, last_publish_status, change_seq);
CREATE INDEX entity_changed_at ON entity (account_id, canonical_changed_at);
CREATE INDEX entity_variants ON entity (account_id, parent_id, position) WHERE parent_id IS NOT NULL;
CREATE INDEX entity_search ON entity USING gin (account_id, search_text gin_trgm_ops);
