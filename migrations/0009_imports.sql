-- One row an account, and a table of its own: every draft write shares this lock first, an import takes it whole to enter or
-- leave its review. run_id names the import that keeps the account locked.
CREATE TABLE import_lock (
  account_id uuid PRIMARY KEY REFERENCES account (id),
  run_id     uuid
);

INSERT INTO import_lock (account_id) SELECT id FROM account;

-- An import and what became of it. A lease belongs to the process that works on it; without one it waits for a person.
CREATE TABLE import_run (
  account_id  uuid NOT NULL REFERENCES account (id),
  id          uuid NOT NULL,
  store_id    uuid NOT NULL,
  source      text NOT NULL CHECK (source IN ('csv')),
  file_name   text NOT NULL,
  phase       text NOT NULL CHECK (phase IN ('fetching', 'reviewing', 'applying', 'applied', 'discarded', 'failed')),
  lease_until timestamptz,
  takeovers   integer NOT NULL DEFAULT 0,
  summary     jsonb NOT NULL DEFAULT '{}',
  error       text,
  created_at  timestamptz NOT NULL DEFAULT app_now(),
  updated_at  timestamptz NOT NULL DEFAULT app_now(),
  PRIMARY KEY (account_id, id),
  FOREIGN KEY (account_id, store_id) REFERENCES store (account_id, id)
);

CREATE INDEX import_run_open ON import_run (phase, lease_until) WHERE phase IN ('fetching', 'reviewing', 'applying');

-- What an import will do: the changes of one product, in the order of the file. Products that stay as they are have none.
CREATE TABLE import_item (
  account_id uuid NOT NULL,
  run_id     uuid NOT NULL,
  ordinal    integer NOT NULL,
  entities   integer NOT NULL,
  changes    jsonb NOT NULL,
  done       boolean NOT NULL DEFAULT false,
  PRIMARY KEY (account_id, run_id, ordinal),
  FOREIGN KEY (account_id, run_id) REFERENCES import_run (account_id, id)
);

-- What imports match by.
CREATE INDEX entity_sku ON entity (account_id, (attributes #>> '{sku,value}')) WHERE kind = 'variant';
CREATE INDEX entity_handle ON entity (account_id, (attributes #>> '{handle,value}')) WHERE kind = 'product';
