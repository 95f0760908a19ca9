/** How the text of a secret begins, by its kind. Of all these secrets only the hash is stored. */
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

/** Random bytes of a secret: 256 bits. */
export const secretBytes = 32

const forms = Object.fromEntries(
  Object.entries(prefixes).map(([kind, prefix]) => [kind, new RegExp(`^${prefix}[A-Za-z0-9_-]{43}$`)])
)

/** Whether the text has the form of a secret of this kind. Spares a query for any other text. */
export const isOfKind = (kind: SecretKind, text: string): boolean => forms[kind]?.test(text) === true
