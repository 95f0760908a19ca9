import type { Sentence, Values } from "./Words.tsx"

/**
 * Rules that a value breaks, as services write them. Pages put them after a subject: "The price must be at least 0." Other
 * languages write them after a colon.
 */
export const rules: ReadonlyArray<Sentence> = [
  "must be one line of text",
  "must be a decimal number such as 19.90, with at most 13 digits before the point and 9 after it",
  "must be a whole number from -9007199254740991 to 9007199254740991",
  "must be true or false",
  "must be a date such as 2026-01-31",
  "must be a URL that begins with http:, https:, mailto:, sms: or tel:",
  "must be JSON, at most {depth} levels deep",
  "must be a URL",
  "must have at most {count} characters",
  "must have at least {count} characters",
  "must be at least {min}",
  "must be at most {max}",
  "must have at most {count} digits after the point",
  "must be one of {choices}",
  "must be a URL whose host is one of {choices}",
  "must match the pattern {pattern}",
  "must be a JSON list of strings",
  "each item {problem}",
  "must have at most {count} items",
  "must have at least {count} items",
  "must have {min} to {max} characters",
  "must not be in the past",
  "must be an e-mail address, such as ada@example.com",
  "must be one of the languages in the list",
  "must be one of the time zones in the list",
  "is in the team already",
  "is on already",
  "cannot be required before you have one yourself: set it up on your profile",
  "is the last administrator of the account; make somebody else administrator first",
  "is your own address: switch your second factor off on your profile, with your password",
  "belongs to a disabled user",
  "belongs to a user of another account; choose another e-mail address",
  "keeps the role: choose one of {choices}",
  "must be a URL, such as https://hooks.example.com/catalog",
  "must begin with https:// (http:// only for a host of the setting WEBHOOK_PRIVATE_HOSTS)",
  "must not contain a user or a password; the signature proves who sends",
  "must not have a fragment",
  "cannot receive webhooks. {problem}",
  "has no platform: nothing can be published to it",
  "is on the platform {platform}, for which this process has no adapter: nothing can be published to it"
]

/** Messages of services that stand alone, or as the value of a placeholder. */
export const messages: ReadonlyArray<Sentence> = [
  // Subjects of rules.
  "The language",
  "The time zone",
  "The password",
  "The new password",
  "The e-mail address",
  "The second factor",
  "The store's platform cannot be reached: {cause}.",
  "The values were sent to the store's platform, but {cause}: whether it accepted them is not known yet.",
  "The store's platform refused the request ({code}): {cause}",
  "it limits the number of requests",
  "it did not answer in time",
  "the connection failed",
  "it reports an internal error",
  "its answer is not valid",
  "it failed several times in a row, so calls are paused for a moment",
  "this process has no adapter for it",
  "{cause} Tried {count} time.",
  "{cause} Tried {count} times.",
  "The entity was removed from the store before it was published.",
  "The store's platform took too long.",
  "The publishing process stopped {count} times before it finished.",
  "product {id} is not live on this store: publish it first, or take it out of the collection",
  "its product {id} is not live on this store: publish the product first",
  "Its product is no longer live on the store: publish the product first.",
  "the {kind} was never published to this store: publish it first",
  "The outcome of the publish is unknown.",
  "The store has no such product any more.",
  "The access token does not allow reading the catalog.",
  "The store does not accept the access token: the token is wrong or was revoked.",
  "the drop is {state}: only a scheduled one can be cancelled",
  "the drop {drop} ({id}) changes this field at the same time",
  "Its certificate is not trusted: it has expired, is for another host, or is signed by an authority that the service does not know.",
  "Its host cannot be found.",
  "Its host does not have public addresses only.",
  "It did not answer.",
  "An account has at most {count} webhooks",
  "Link {domain}",
  "Unlink {domain}",
  "Publish {things} to {domain}",
  "all changes",
  "{count} selected",
  "Add {things} to {domain}",
  "Set {key} of {things} on {domain}",
  "Set {key} of {things}",
  "Clear {key} of {things} on {domain}",
  "Clear {key} of {things}",
  "{count} products",
  "{count} product",
  "{count} variants",
  "{count} variant",
  "{count} collections",
  "{count} collection",
  "Scan data health every night",
  "Scan data health after an import",
  "Scan data health after a store was linked again",
  "Refresh {domain}",
  "Import {file} into {domain}",
  "Count the export of {domain} as published",
  "Delete the account {account}",
  "The store is no longer linked.",
  "What was counted as published before stays published. Link the store again, then resume the job.",
  "What was changed before stays changed. Link the store again, then resume the job.",
  "What was requested before stays requested. Link the store again, then resume the job.",
  "Link the store with a platform, then resume the job.",
  "the job is {state}: {cause}",
  "only a job that is queued or running can be paused",
  "only a paused or failed job can be resumed",
  "only a job that is queued, running or paused can be cancelled",
  "the job cannot be cancelled: {cause}",
  "the store is unlinked already. Let the job finish, then link the store again to restore it",
  "the store is linked already. Let the job finish, then unlink the store",
  "the account's keys and users are deleted already. Let the job finish",
  "the job has failed and cannot be resumed. {cause}",
  "another open job works on the same store: resume this one when that one has ended",
  "another job works on the same store: try again",
  "the service has begun another job in its place, so it need not be resumed",
  "the job {job} ({id}) is {state} and works on the same store: {cause} first",
  "let it finish",
  "resume or cancel it",
  "resume it",
  "Too many {counted}. Try again in {duration} (after {time}).",
  "{count} minutes",
  "{count} minute",
  "failed attempts with this e-mail",
  "failed attempts from your network",
  "failed attempts in this browser",
  "wrong codes",
  "wrong passwords",
  "requests for this e-mail",
  "requests from your network",
  "Too many sign-ins at the moment. Try again in {count} seconds.",
  "the end of an import or of its review",
  "the outcomes of {count} publishes",
  "the next night ({time})",
  "the end of another scan of {domain}",
  "no {kind} is selected",
  "{things} are selected: one job changes at most {count}",
  "queued",
  "running",
  "paused",
  "cancelled",
  "failed",
  "done",
  "live",
  "ending",
  "ended",
  "product",
  "variant",
  "collection"
]

/** Messages that name commands, for the command line, and what pages say instead. */
export const pageWords: Readonly<Record<string, Sentence>> = {
  "import {id} is paused while it is applied: continue it with `catalog jobs resume {id}` or end it with `catalog jobs cancel {id}` first":
    "An import is paused while it is applied: resume or cancel its job on the page Jobs first.",
  "import {id} is being applied: see `catalog import show {id}`, and try again when it is done":
    "An import is being applied: see the page Imports, and try again when it is done.",
  "import {id} is under review: accept it with `catalog import accept {id}` or discard it with `catalog import discard {id}` first":
    "An import is under review: accept or discard it on the page Imports first.",
  "no store {domain} is linked; see `catalog store list`": "No store {domain} is linked: see the page Stores.",
  "The store has no saved {noun}: link it again with `catalog store link {options}`.":
    "The store has no saved access token or credentials: ask the operator of this service to link it again.",
  "The saved {noun} of the store lack a field: link it again with `catalog store link {options}`.":
    "A field of the saved credentials of the store is missing: ask the operator of this service to link it again.",
  "The demo shop refuses because of `catalog platform fail`; `catalog platform repair` repairs it.":
    "The demo shop was told to refuse: ask the operator of this service to repair it."
}

/** Placeholders whose values have no blanks. */
const oneWord = ["code", "count", "depth", "domain", "id", "key", "max", "min"]

interface Pattern {
  readonly sentence: Sentence
  /** The message is for the command line, so English pages use other words, too. */
  readonly isReplaced: boolean
  readonly expression: RegExp
  readonly names: ReadonlyArray<string>
}

/** `before` and `after`: what may stand around the text, as regular expressions. */
const patternOf = (text: string, sentence: Sentence, before = "", after = ""): Pattern => {
  const names: Array<string> = []
  const expression = text
    .split(/\{(\w+)\}/)
    .map((part, index) => {
      if (index % 2 === 0) return part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
      if (names.includes(part)) return `\\k<${part}>`
      names.push(part)
      return `(?<${part}>${oneWord.includes(part) ? "\\S" : "."}+?)`
    })
    .join("")
  return {
    sentence,
    isReplaced: text !== sentence,
    names,
    expression: new RegExp(`^${before}${expression}${after}$`, "s")
  }
}

/**
 * A pattern that begins with a message comes first: "{cause} Tried {count} times." Then the longer text, which is more specific: "must be
 * one of the languages in the list" before "must be one of {choices}".
 */
const bySize = (one: Pattern, other: Pattern) =>
  Number(other.sentence.startsWith("{cause}")) - Number(one.sentence.startsWith("{cause}")) ||
  other.sentence.length - one.sentence.length

const whole = [
  ...[...messages, ...rules].map((text) => patternOf(text, text)),
  ...Object.entries(pageWords).map(([text, sentence]) => patternOf(text, sentence))
].sort(bySize)

const afterSubject = rules.map((text) => patternOf(text, text, "(?<subject>.+?) ", "(?<end>\\.?)")).sort(bySize)

const find = (patterns: ReadonlyArray<Pattern>, text: string) => {
  for (const pattern of patterns) {
    const found = pattern.expression.exec(text)
    if (found !== null) return { pattern, groups: found.groups ?? {} }
  }
  return undefined
}

/** A message that was found in the lists above. `subject`: what stands before a rule. */
export interface ServiceMessage {
  readonly sentence: Sentence
  readonly values: Values
  readonly isReplaced: boolean
  readonly subject: string | undefined
}

/** Finds a message of a service by its English text. A path before it, as in "import: ...", is left out. */
export const serviceMessageOf = (text: string): ServiceMessage | undefined => {
  const found = find(whole, text) ?? find(whole, text.replace(/^[a-z_.]+: /, "")) ?? find(afterSubject, text)
  if (found === undefined) return undefined
  const { groups, pattern } = found
  const values = Object.fromEntries(pattern.names.map((name) => [name, groups[name] ?? ""]))
  return { sentence: pattern.sentence, values, isReplaced: pattern.isReplaced, subject: groups.subject }
}
