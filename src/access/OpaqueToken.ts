/** The prefix of a secret by its kind. Only the hashes of these secrets are stored. */
export const prefixes = {
  access: "pim_at_",
  refresh: "pim_rt_",
  code: "pim_ac_",
  session: "pim_se_",
  device: "pim_de_",
  passwordLink: "pim_pl_",
  signInStep: "pim_si_",
  form: "pim_cf_"
} as const
export type SecretKind = keyof typeof prefixes

/** Number of random bytes in a secret: 256 bits. */
export const secretBytes = 32

const forms = Object.fromEntries(
  Object.entries(prefixes).map(([kind, prefix]) => [kind, new RegExp(`^${prefix}[A-Za-z0-9_-]{43}$`)])
)

/** Whether a text has the form of a secret of this kind. Other texts are refused without a query. */
export const isOfKind = (kind: SecretKind, text: string): boolean => forms[kind]?.test(text) === true
