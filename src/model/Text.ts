/** Why text cannot be stored unchanged. Undefined: it can. */
export const textMisfit = (text: string): string | undefined =>
  text.includes("\u0000")
    ? "must not contain U+0000"
    : text.isWellFormed()
      ? undefined
      : "must not contain lone surrogates"
