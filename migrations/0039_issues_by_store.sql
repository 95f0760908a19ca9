-- The rows of an entity are looked up without a store. Without statistics of a new base the planner took this index for it, and read
-- the whole section for each entity. A partial index serves only the statements that name a store.
DROP INDEX health_issue_by_store;
CREATE INDEX health_issue_by_store ON health_issue (account_id, base, section, store_id, entity_id)
  WHERE store_id <> '00000000-0000-0000-0000-000000000000';
