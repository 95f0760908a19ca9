/** Why text cannot be stored unchanged. Undefined: it can. */
export const textMisfit = (text: string): string | undefined =>
  text.includes("\u0000")
    ? "must not contain U+0000"
    : text.isWellFormed()
      ? undefined
      : "must not contain lone surrogates"

/** Whether nobody sees anything of a text: it has only blanks and invisible characters. */
export const isInvisible = (text: string): boolean => /^[\s\p{Cf}\p{DI}]*$/u.test(text)
