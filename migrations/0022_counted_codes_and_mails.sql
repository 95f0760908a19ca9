-- Also counts the wrong codes of a user in a day, the mails about them, and the mails with links of an account in an hour.
ALTER TABLE attempt DROP CONSTRAINT attempt_kind_check;
ALTER TABLE attempt ADD CONSTRAINT attempt_kind_check CHECK (kind IN (
  'sign-in', 'sign-in-address', 'sign-in-device', 'registration', 'second-factor', 'own-password', 'new-password',
  'new-password-address', 'wrong-code', 'wrong-code-mail', 'link-mail'
));
