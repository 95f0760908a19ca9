-- The time steps of the last accepted codes, newest first. A code that was accepted while the clock was ahead is refused when its time
-- comes, although last_step is smaller by then.
ALTER TABLE second_factor ADD COLUMN used_steps bigint[] NOT NULL DEFAULT '{}';

UPDATE second_factor SET used_steps = ARRAY[last_step] WHERE last_step IS NOT NULL;
