-- A connection also ends when its last refresh token has expired, and when the user who consented to it is disabled: it opens
-- nothing any more, and what merchants see must say so.
ALTER TABLE oauth_grant DROP CONSTRAINT oauth_grant_end_reason_check;
ALTER TABLE oauth_grant ADD CONSTRAINT oauth_grant_end_reason_check
  CHECK (end_reason IN ('disconnected', 'revoked', 'token_replayed', 'code_replayed', 'expired', 'user_disabled'));

UPDATE oauth_grant g
SET ended_at = u.disabled_at, end_reason = 'user_disabled'
FROM app_user u
WHERE u.account_id = g.account_id AND u.id = g.user_id AND u.disabled_at IS NOT NULL AND g.ended_at IS NULL;

-- Those that are looked through for the ones whose tokens have all expired.
CREATE INDEX oauth_grant_living ON oauth_grant (account_id, id) WHERE ended_at IS NULL;
