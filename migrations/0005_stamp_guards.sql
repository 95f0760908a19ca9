-- If a change of canonical values were committed without a new stamp, readers that walk a list would miss it. These
-- triggers run at commit, read the row that must have the stamp, and refuse the transaction if it has none.

CREATE FUNCTION refuse_unstamped(account uuid, owner uuid, why text) RETURNS void
  LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'entity % of account % was not stamped: % (raise the counter in the last statement)', owner, account, why
    USING ERRCODE = 'integrity_constraint_violation';
END $$;

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
