-- The history of drafts, and the guards that every write of a draft passes.

-- History: the changes of an entity's draft, its publish requests and their outcomes, each with actor and time. A write
-- inserts one row for each layer that it changes: the canonical values (store_id null), or the values of one store.
-- Rows are never updated.
CREATE TABLE entity_history (
  account_id     uuid NOT NULL,
  entity_id      uuid NOT NULL,
  -- The next number of the entity, drawn while it is locked, so the numbers follow the order of its changes. On a cluster, each node
  -- would draw the numbers of a sequence from its own range.
  sequence       bigint NOT NULL,
  draft_revision integer NOT NULL CHECK (draft_revision > 0),
  store_id       uuid,
  action         text NOT NULL CHECK (action IN (
    'created', 'attributes', 'added_to_store', 'removed_from_store', 'gallery', 'members', 'variants',
    'publish_asked', 'published', 'publish_failed'
  )),
  changes        jsonb NOT NULL CHECK (jsonb_typeof(changes) = 'array'),
  actor_kind     text NOT NULL CHECK (actor_kind IN ('user', 'key', 'connection', 'cli')),
  actor_id       uuid,
  actor_name     text,
  -- The import or drop that made the change. No foreign keys: an import inserts a row for every entity, and checking
  -- the same id each time would take a tenth of the import.
  import_id      uuid,
  at             timestamptz NOT NULL DEFAULT app_now(),
  error          jsonb,
  drop_id        uuid,
  -- The connection whose writes this change undid. No foreign key, as for import_id and drop_id.
  undo_of        uuid,
  PRIMARY KEY (account_id, entity_id, sequence),
  FOREIGN KEY (account_id, entity_id) REFERENCES entity (account_id, id),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id),
  CONSTRAINT entity_history_error_check CHECK ((action = 'publish_failed') = (error IS NOT NULL))
);

-- Indexes of changes by connections: by time, and by entity. They contain no changes of other actors. Changes of different entities can
-- have the same number.
CREATE INDEX entity_history_connection ON entity_history (account_id, actor_id, at, sequence, entity_id)
  WHERE actor_kind = 'connection';
CREATE INDEX entity_history_connection_entity ON entity_history (account_id, actor_id, entity_id, at) WHERE actor_kind = 'connection';

-- If a change of canonical values were committed without a new stamp, readers that walk a list would miss it. These
-- triggers run at commit, read the row that must have the stamp, and refuse the transaction if it has none.

-- Rows of an account that is being deleted need no stamp, because its lists are no longer read.
CREATE FUNCTION refuse_unstamped(account uuid, owner uuid, why text) RETURNS void
  LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM account a WHERE a.id = refuse_unstamped.account AND a.deleting_since IS NOT NULL) THEN
    RETURN;
  END IF;
  RAISE EXCEPTION 'entity % of account % was not stamped: % (raise the counter in the last statement)', owner, account, why
    USING ERRCODE = 'integrity_constraint_violation';
END $$;

-- Identifies the transaction for these guards. A cluster has no guards, and its nodes do not share transaction
-- ids, so distributing the tables replaces this function by one that returns null.
CREATE FUNCTION tx_stamp() RETURNS xid8 LANGUAGE sql STABLE AS $$ SELECT pg_current_xact_id() $$;

-- Changes of the entity's own columns: a write stamps the row after the change, so the committed change_seq must differ
-- from the old one.
CREATE FUNCTION guard_entity_stamp() RETURNS trigger
  LANGUAGE plpgsql AS $$
DECLARE
  current_seq bigint;
BEGIN
  SELECT change_seq INTO current_seq FROM entity WHERE account_id = NEW.account_id AND id = NEW.id;
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  IF current_seq IS NULL OR (TG_OP = 'UPDATE' AND current_seq IS NOT DISTINCT FROM OLD.change_seq) THEN
    PERFORM refuse_unstamped(NEW.account_id, NEW.id, 'its canonical values changed');
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER entity_insert_is_stamped AFTER INSERT ON entity
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  EXECUTE FUNCTION guard_entity_stamp();

CREATE CONSTRAINT TRIGGER entity_update_is_stamped AFTER UPDATE ON entity
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.attributes IS DISTINCT FROM NEW.attributes OR OLD.kind IS DISTINCT FROM NEW.kind)
  EXECUTE FUNCTION guard_entity_stamp();

-- A variant, gallery entry or collection member belongs to an owner (product, entity, collection). The transaction that changes
-- it must stamp the owner. Savepoints share the transaction's id.
CREATE FUNCTION guard_owner_stamp(account uuid, owner uuid, why text) RETURNS void
  LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT FROM entity
    WHERE account_id = account AND id = owner AND stamped_by IS DISTINCT FROM pg_current_xact_id()
  ) THEN
    PERFORM refuse_unstamped(account, owner, why);
  END IF;
END $$;

CREATE FUNCTION guard_variant_owner() RETURNS trigger
  LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.parent_id IS NOT NULL THEN
    PERFORM guard_owner_stamp(OLD.account_id, OLD.parent_id, 'its variants changed');
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.parent_id IS NOT NULL THEN
    PERFORM guard_owner_stamp(NEW.account_id, NEW.parent_id, 'its variants changed');
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER variant_insert_stamps_product AFTER INSERT ON entity
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (NEW.parent_id IS NOT NULL)
  EXECUTE FUNCTION guard_variant_owner();

CREATE CONSTRAINT TRIGGER variant_update_stamps_product AFTER UPDATE ON entity
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.parent_id IS DISTINCT FROM NEW.parent_id OR OLD.position IS DISTINCT FROM NEW.position)
  EXECUTE FUNCTION guard_variant_owner();

CREATE CONSTRAINT TRIGGER variant_delete_stamps_product AFTER DELETE ON entity
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (OLD.parent_id IS NOT NULL)
  EXECUTE FUNCTION guard_variant_owner();

CREATE FUNCTION guard_gallery_owner() RETURNS trigger
  LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    PERFORM guard_owner_stamp(OLD.account_id, OLD.entity_id, 'its gallery changed');
  END IF;
  IF TG_OP <> 'DELETE' THEN
    PERFORM guard_owner_stamp(NEW.account_id, NEW.entity_id, 'its gallery changed');
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER gallery_change_stamps_owner AFTER INSERT OR DELETE ON entity_media
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  EXECUTE FUNCTION guard_gallery_owner();

-- A change of store_ids needs no stamp: it changes store versions, not canonical values.
CREATE CONSTRAINT TRIGGER gallery_order_stamps_owner AFTER UPDATE ON entity_media
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  WHEN (
    OLD.entity_id IS DISTINCT FROM NEW.entity_id
    OR OLD.media_id IS DISTINCT FROM NEW.media_id
    OR OLD.position IS DISTINCT FROM NEW.position
  )
  EXECUTE FUNCTION guard_gallery_owner();

CREATE FUNCTION guard_member_owner() RETURNS trigger
  LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    PERFORM guard_owner_stamp(OLD.account_id, OLD.collection_id, 'its members changed');
  END IF;
  IF TG_OP <> 'DELETE' THEN
    PERFORM guard_owner_stamp(NEW.account_id, NEW.collection_id, 'its members changed');
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER member_change_stamps_collection AFTER INSERT OR UPDATE OR DELETE ON collection_member
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
  EXECUTE FUNCTION guard_member_owner();
