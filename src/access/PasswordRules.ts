import { Effect, Option } from "effect"

const minCharacters = 10
const maxCharacters = 200

/** Words that attackers expect at this service. */
const expectedWords = ["catalog", "password"]

/** Shorter names say nothing about a password: they occur in ordinary words. */
const minNameLength = 3

/** Digits that people put before or after a name: at most a date. More of them are hard to guess by themselves. */
const maxAddedDigits = 8

/** Average length from which runs, such as the three of `aaaabcd9876`, make a password easy to guess. */
const minRunLength = 3

/** The user who sets a password. */
export interface PasswordOwner {
  readonly email: string
  readonly accountName: string
}

/** The letters and digits of a text, in one form for both cases. */
const lettersOf = (text: string) =>
  text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, "")

/** The number of runs of a text: parts of one repeated character, or of characters that follow each other forwards or backwards. */
const runsOf = (characters: ReadonlyArray<string>) => {
  const codes = characters.map((character) => character.codePointAt(0) ?? 0)
  let runs = 0
  for (let at = 0; at < codes.length; runs++) {
    const step = (codes[at + 1] ?? Number.NaN) - (codes[at] ?? 0)
    at++
    if (Math.abs(step) <= 1) while (at < codes.length && (codes[at] ?? 0) - (codes[at - 1] ?? 0) === step) at++
  }
  return runs
}

/** Whether a text consists of one short text again and again, or of a few runs. */
const isPattern = (text: string) => {
  const characters = [...text]
  const periods = Array.from(
    { length: Math.min(minCharacters - 1, Math.floor(characters.length / 2)) },
    (_, at) => at + 1
  )
  return (
    periods.some((period) => characters.every((each, at) => at < period || each === characters[at - period])) ||
    runsOf(characters) * minRunLength <= characters.length
  )
}

/** Whether a password has nothing but names of its owner, some digits and a pattern. */
const isName = (password: string, { accountName, email }: PasswordOwner) => {
  const [local = "", domain = ""] = email.split("@")
  const names = [
    email,
    local,
    domain,
    accountName,
    ...local.split(/[._+-]/),
    ...domain.split("."),
    ...accountName.split(/\s/),
    ...expectedWords
  ]
    .map(lettersOf)
    .filter((name) => name.length >= minNameLength)
    .sort((one, other) => other.length - one.length)
  const letters = lettersOf(password)
  const rest = names.reduce((left, name) => left.replaceAll(name, " "), letters)
  if (!rest.includes(" ")) return false
  const added = rest.replaceAll(" ", "")
  return (/^\p{N}*$/u.test(added) && added.length <= maxAddedDigits) || isPattern(added)
}

/** The common passwords. They are loaded when the first password is set, because most processes set none. */
const loadCommonPasswords = Effect.cached(
  Effect.map(
    Effect.promise(() => import("./CommonPasswords.json", { with: { type: "json" } })),
    ({ default: { passwords } }) => new Set(passwords)
  )
)

/** Checks new passwords. Returns why one is not accepted; None: it is accepted. */
export const makePasswordMisfit = Effect.map(
  loadCommonPasswords,
  (common) => (password: string, owner: PasswordOwner) =>
    Effect.gen(function* () {
      const { length } = [...password]
      if (length < minCharacters || length > maxCharacters)
        return Option.some(`must have ${minCharacters} to ${maxCharacters} characters`)
      if ((yield* common).has(password.toLowerCase()))
        return Option.some("is one of the most common ones, which attackers try first; use a few unrelated words")
      if (isPattern(password.toLowerCase()))
        return Option.some("repeats itself or follows the alphabet or the digits; use a few unrelated words")
      if (isName(password, owner))
        return Option.some(
          "is little more than a word that attackers expect, such as your e-mail address or the name of this account; use a few unrelated words"
        )
      return Option.none<string>()
    })
)
