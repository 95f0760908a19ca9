-- An e-mail address may be invited to several accounts, so that an invitation does not show whether another account has a user with it.
-- It belongs to the account whose invitation is accepted first, which sets the password.
ALTER TABLE app_user DROP CONSTRAINT app_user_email_key;
CREATE UNIQUE INDEX app_user_email ON app_user (email) WHERE password IS NOT NULL;
CREATE UNIQUE INDEX app_user_of_account ON app_user (account_id, email);
