-- The browser and the operating system of a session, by the User-Agent of its sign-in. Null: not recognised.
ALTER TABLE session
  ADD COLUMN browser          text CHECK (browser <> ''),
  ADD COLUMN operating_system text CHECK (operating_system <> '');

-- Whether all users of the account need a second factor.
ALTER TABLE account ADD COLUMN requires_second_factor boolean NOT NULL DEFAULT false;
