-- Parts of the step that were begun and not saved, less those that were saved since. Each halves the next part.
ALTER TABLE drop ADD COLUMN failed_parts integer NOT NULL DEFAULT 0;
