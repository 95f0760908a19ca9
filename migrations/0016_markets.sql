-- Markets of the account's stores. Those of several stores with the same handle are one market; its row stays when no store has
-- it any more, so that it keeps its id when one has it again.
CREATE TABLE market (
  account_id uuid NOT NULL REFERENCES account (id),
  id         uuid NOT NULL,
  handle     text NOT NULL,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, handle)
);

-- A market as one store has it.
CREATE TABLE market_store (
  account_id    uuid NOT NULL,
  store_id      uuid NOT NULL,
  market_id     uuid NOT NULL,
  platform_id   text NOT NULL,
  name          text NOT NULL,
  status        text NOT NULL CHECK (status IN ('active', 'draft')),
  type          text NOT NULL,
  currency      text,
  regions       jsonb NOT NULL CHECK (jsonb_typeof(regions) = 'array'),
  web_presences jsonb NOT NULL CHECK (jsonb_typeof(web_presences) = 'array'),
  PRIMARY KEY (account_id, store_id, market_id),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id),
  FOREIGN KEY (account_id, market_id) REFERENCES market (account_id, id)
);

-- A catalog that is attached to it there. Its id is the platform's; a store may attach one catalog to several markets.
CREATE TABLE market_catalog (
  account_id       uuid NOT NULL,
  store_id         uuid NOT NULL,
  market_id        uuid NOT NULL,
  id               text NOT NULL,
  title            text NOT NULL,
  status           text NOT NULL CHECK (status IN ('active', 'archived', 'draft')),
  currency         text,
  price_adjustment jsonb,
  PRIMARY KEY (account_id, store_id, market_id, id),
  FOREIGN KEY (account_id, store_id, market_id) REFERENCES market_store (account_id, store_id, market_id) ON DELETE CASCADE
);
