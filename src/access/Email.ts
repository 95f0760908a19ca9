import { Either } from "effect"

const form = /^[^\s@]{1,64}@[^\s@]{1,189}$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for them.
const forbidden = /[\u0000-\u001f\u007f\uFFFD]/

/** Parses an e-mail address and returns it in lower case, as it is stored and compared. Left: the rule that the text breaks. */
export const readEmail = (text: string): Either.Either<string, string> => {
  const email = text.trim().toLowerCase()
  return form.test(email) && !forbidden.test(email) && email.isWellFormed()
    ? Either.right(email)
    : Either.left("must be an e-mail address, such as ada@example.com")
}
