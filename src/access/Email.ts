import { Either } from "effect"

const form = /^[^\s@]{1,64}@[^\s@]{1,189}$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const unspeakable = /[\u0000-\u001f\u007f\uFFFD]/

/** An e-mail address as it is kept and compared: in lower case. Left: the rule that it breaks. */
export const readEmail = (text: string): Either.Either<string, string> => {
  const email = text.trim().toLowerCase()
  return form.test(email) && !unspeakable.test(email) && email.isWellFormed()
    ? Either.right(email)
    : Either.left("must be an e-mail address, such as ada@example.com")
}
