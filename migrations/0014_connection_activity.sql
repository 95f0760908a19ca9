-- Tool calls of connections by UTC day. A process adds the calls that it counted every few seconds. What connections wrote and
-- published is counted from entity_history. Without a reference to oauth_grant, so that adding takes no lock there: the rows
-- are deleted after 90 days.
CREATE TABLE connection_activity (
  account_id    uuid NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  connection_id uuid NOT NULL,
  day           date NOT NULL,
  calls         bigint NOT NULL CHECK (calls > 0),
  PRIMARY KEY (account_id, connection_id, day)
);

CREATE INDEX connection_activity_day ON connection_activity (day);

-- The connection whose writes this change undid. Without a foreign key, as import_id and drop_id.
ALTER TABLE entity_history ADD COLUMN undo_of uuid;

-- The changes of a connection by time, and by entity. Changes of other actors are in neither index.
CREATE INDEX entity_history_connection ON entity_history (account_id, actor_id, at, sequence) WHERE actor_kind = 'connection';
CREATE INDEX entity_history_connection_entity ON entity_history (account_id, actor_id, entity_id, at) WHERE actor_kind = 'connection';
