-- The first publish of an entity looks for records of the shop's staff with its handle or SKUs.
CREATE INDEX demo_shop_record_handle ON demo_shop_record (account_id, store_id, (attributes #>> '{handle,value}'))
  WHERE entity_id IS NULL;
CREATE INDEX demo_shop_record_sku ON demo_shop_record (account_id, store_id, (attributes #>> '{sku,value}'))
  WHERE entity_id IS NULL;
