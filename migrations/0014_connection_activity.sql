-- Number of tool calls of a connection on one UTC day. Each process adds its counts every few seconds. Writes and
-- publishes of connections are counted from entity_history. No foreign key to oauth_grant, so that adding takes no lock
-- there; rows are deleted after 90 days.
CREATE TABLE connection_activity (
  account_id    uuid NOT NULL REFERENCES account (id) ON DELETE CASCADE,
  connection_id uuid NOT NULL,
  day           date NOT NULL,
  calls         bigint NOT NULL CHECK (calls > 0),
  PRIMARY KEY (account_id, connection_id, day)
);

CREATE INDEX connection_activity_day ON connection_activity (day);

-- The connection whose writes this change undid. No foreign key, as for import_id and drop_id.
ALTER TABLE entity_history ADD COLUMN undo_of uuid;

-- Indexes of changes by connections: by time, and by entity. They contain no changes of other actors.
CREATE INDEX entity_history_connection ON entity_history (account_id, actor_id, at, sequence) WHERE actor_kind = 'connection';
CREATE INDEX entity_history_connection_entity ON entity_history (account_id, actor_id, entity_id, at) WHERE actor_kind = 'connection';
