-- A connection also ends when its user is disabled, and by itself when its last refresh token expires: it opens nothing any more,
-- and what merchants see must say so.
ALTER TABLE oauth_grant DROP CONSTRAINT oauth_grant_end_reason_check;
ALTER TABLE oauth_grant ADD CONSTRAINT oauth_grant_end_reason_check
  CHECK (end_reason IN ('disconnected', 'revoked', 'token_replayed', 'code_replayed', 'user_disabled'));

-- When the newest of its refresh tokens expires; before it has any, nothing can come of it.
ALTER TABLE oauth_grant ADD COLUMN lapses_at timestamptz NOT NULL DEFAULT app_now();

-- Where tokens are gone, they had expired: nobody knows when, but not before it was used last.
UPDATE oauth_grant g
SET lapses_at = coalesce(
  (SELECT max(t.expires_at) FROM oauth_token t
   WHERE t.account_id = g.account_id AND t.grant_id = g.id AND t.kind = 'refresh'),
  g.last_used_at,
  g.created_at
);

UPDATE oauth_grant g
SET ended_at = u.disabled_at, end_reason = 'user_disabled'
FROM app_user u
WHERE u.account_id = g.account_id AND u.id = g.user_id AND u.disabled_at IS NOT NULL AND g.ended_at IS NULL;
