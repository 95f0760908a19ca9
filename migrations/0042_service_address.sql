-- Where the service was started last, as it names itself: links that a command prints begin with it. Null: never started.
ALTER TABLE installation ADD COLUMN base_url text;
