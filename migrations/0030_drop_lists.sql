-- Lists of drops: those with a step left, from the earliest start, and the others, from the latest.
CREATE INDEX drop_open ON drop (account_id, starts_at, id) WHERE next_step IS NOT NULL;
CREATE INDEX drop_ended ON drop (account_id, starts_at, id) WHERE next_step IS NULL;
-- The drops of a month. A drop without an end counts at its start.
CREATE INDEX drop_by_end ON drop (account_id, coalesce(ends_at, starts_at));
