/** What the text of a secret says of its kind: access token, refresh token, code; and what else is kept by its hash alone. */
export const prefixes = {
  access: "pim_at_",
  refresh: "pim_rt_",
  code: "pim_ac_",
  session: "pim_se_",
  device: "pim_de_",
  passwordLink: "pim_pl_",
  form: "pim_cf_"
} as const
export type SecretKind = keyof typeof prefixes

/** 256 random bits. */
export const secretBytes = 32

const forms = Object.fromEntries(
  Object.entries(prefixes).map(([kind, prefix]) => [kind, new RegExp(`^${prefix}[A-Za-z0-9_-]{43}$`)])
)

/** Whether the text can be a secret of this kind: tells other kinds, and nonsense, before the database is asked. */
export const isOfKind = (kind: SecretKind, text: string): boolean => forms[kind]?.test(text) === true
