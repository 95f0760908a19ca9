-- What opens a store's platform, encrypted and bound to its account and store (services/SecretBox); null: it needs nothing,
-- or the store is not linked.
ALTER TABLE store ADD COLUMN credential bytea;

-- A Shopify store is one account's alone. Over all accounts by design: a domain that is taken is told only to who has shown a
-- token that opens it.
CREATE UNIQUE INDEX store_shopify_domain ON store (domain) WHERE platform = 'shopify' AND status = 'linked';
