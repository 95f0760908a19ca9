import { Either } from "effect"

/** An e-mail address in the form in which it is stored and compared. Other text is looked up in the same form. */
export const normalEmail = (text: string): string => text.trim().toLowerCase()

/**
 * Characters that neither part of an address can have. Mail programs write brackets and commas around addresses, and the mail library
 * removes them: the user would get the mail, and could not sign in with their address. Control characters could control the terminal
 * that shows the address, and invisible ones make it look like another address.
 */
const forbidden = '\\s@()<>\\[\\]:;,\\\\"\\p{Cc}\\p{Cf}\\p{Cs}\\uFFFD'
const form = new RegExp(`^[^${forbidden}]{1,64}@(?!.{190})[^${forbidden}.]+(?:\\.[^${forbidden}.]+)*$`, "u")

/** Parses an e-mail address and returns it in its normal form. Left: the rule that the text breaks. */
export const readEmail = (text: string): Either.Either<string, string> => {
  const email = normalEmail(text)
  return form.test(email) ? Either.right(email) : Either.left("must be an e-mail address, such as ada@example.com")
}
