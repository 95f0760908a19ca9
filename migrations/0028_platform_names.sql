-- Any platform that has an adapter in some process, or none. Which names are adapters is known to the processes only.
ALTER TABLE store DROP CONSTRAINT store_platform_check;
ALTER TABLE store ADD CONSTRAINT store_platform_check CHECK (platform ~ '^[a-z][a-z0-9-]{0,31}$');

COMMENT ON TABLE shopify_shop IS
  'The account that a store is reserved for: of every platform whose adapter verifies stores, not only of Shopify. The name stays, because processes of the version before use it during an upgrade.';
