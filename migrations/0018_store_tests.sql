-- When the platform was last asked whether it accepts the credential of a store, and why it refused it. A refusal of null: it accepted it.
ALTER TABLE store
  ADD COLUMN tested_at timestamptz,
  ADD COLUMN refusal   text;
